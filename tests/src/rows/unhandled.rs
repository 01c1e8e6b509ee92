//! No handler for the event type.

use std::sync::Arc;

use inbox::{
    DecodeError, Delivery, DispatchErrorKind as Kind, Envelope, Handler, HandlerFuture,
    HandlerRegistration, InboxBuilder, IntegrationEvent, NoStore, Outcome,
};
use uuid::Uuid;

use crate::answer::Failed;
use crate::bench::{Bench, CONSUMER, handler};
use crate::command::{COMMAND, envelope};
use crate::harness::{Harness, StoreOptions};

/// The event type of [`Other`].
pub(crate) const OTHER: &str = "conformance.other.v1";

/// A second event, and its handler, which does nothing.
pub(crate) struct Other;

impl Other {
    pub(crate) fn registration() -> HandlerRegistration {
        HandlerRegistration::new::<Other>(CONSUMER, "other")
    }
}

impl IntegrationEvent for Other {
    const EVENT_TYPE: &'static str = OTHER;

    fn decode(_: &Envelope) -> Result<Self, DecodeError> {
        Ok(Other)
    }
}

impl Handler for Other {
    type Event = Other;

    fn call<'a>(_: Other, _: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async { Ok(()) })
    }
}

pub(crate) fn nobodys() -> Envelope {
    Envelope::new(Uuid::new_v4(), "nobody.handles-this.v1", "{}")
}

pub async fn an_event_type_without_handler_is_unhandled_naming_the_known_types<H: Harness>() {
    let both = |b: InboxBuilder<NoStore>| {
        b.register(handler::<H, 0>("obey")).register(Other::registration())
    };
    let bench = Bench::<H>::with(both).await;
    let error = bench.dispatch(&nobodys()).await.permanent(Kind::Unhandled);
    let text = error.to_string();
    assert!([COMMAND, OTHER, CONSUMER].iter().all(|known| text.contains(known)), "{text}");
    assert_eq!(bench.harness.dedup_rows(CONSUMER).await, []);
    bench.assert_usable().await;
}

pub async fn an_event_type_without_handler_is_ignored_where_the_application_chose_so<H: Harness>() {
    let bench = Bench::<H>::with(|b| b.ignore_unhandled().register(handler::<H, 0>("obey"))).await;
    let envelope = nobodys();
    for _ in 0..2 {
        assert_eq!(bench.dispatch(&envelope).await.unwrap(), Outcome::Ignored);
    }
    assert_eq!(bench.harness.dedup_rows(CONSUMER).await, [], "a later handler would not see it");
    bench.assert_usable().await;
}

pub async fn a_processed_message_whose_handler_is_gone_is_a_duplicate<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let envelope = envelope([]);
    assert_eq!(bench.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    for ignore in [false, true] {
        let harness = Arc::clone(&bench.harness);
        let later = Bench::<H>::on(harness, StoreOptions::default(), |builder| {
            let builder = builder.register(Other::registration());
            if ignore { builder.ignore_unhandled() } else { builder }
        })
        .await;
        assert_eq!(later.dispatch(&envelope).await.unwrap(), Outcome::SkippedDuplicate);
    }
}
