//! The payload cannot be decoded.

use std::sync::Arc;

use inbox::{
    DecodeError, Delivery, DispatchErrorKind as Kind, Envelope, Handler, HandlerFuture,
    HandlerRegistration, IntegrationEvent, Outcome,
};
use uuid::Uuid;

use crate::answer::{Failed, link};
use crate::bench::{Bench, CONSUMER, handler};
use crate::command::{COMMAND, Command, envelope};
use crate::harness::{Harness, StoreOptions};

/// Handles the suite's event, as code that cannot read it any more.
struct ReadsNothing;

impl IntegrationEvent for ReadsNothing {
    const EVENT_TYPE: &'static str = COMMAND;

    fn decode(_: &Envelope) -> Result<Self, DecodeError> {
        Err(DecodeError::new("nothing is read"))
    }
}

impl Handler for ReadsNothing {
    type Event = ReadsNothing;

    fn call<'a>(_: ReadsNothing, _: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async { Ok(()) })
    }
}

fn undecodable() -> Envelope {
    let secret = Command::SECRET;
    let payload = format!("{{\"secret\": \"{secret}\",\n \"ends\": [{{\"{secret}\": 1}}]}}");
    Envelope::new(Uuid::new_v4(), COMMAND, payload)
}

pub async fn an_undecodable_payload_is_a_permanent_decode_error_that_says_where<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let error = bench.dispatch(&undecodable()).await.permanent(Kind::Decode);
    let cause: &DecodeError = link(&error);
    assert_eq!(cause.path(), Some("ends[0].*"));
    assert_eq!(cause.position().map(|(line, _)| line), Some(2));
    assert_eq!(error.handler(), Some("obey"));
    assert_eq!((bench.probe.starts(), bench.plan.calls()), (0, vec!["find"]));
    assert_eq!(bench.harness.dedup_rows(CONSUMER).await, []);
}

pub async fn p3_an_undecodable_message_is_isolated_and_the_others_flow<H: Harness>() {
    let bench = Bench::<H>::start().await;
    for _ in 0..3 {
        let _ = bench.dispatch(&undecodable()).await.permanent(Kind::Decode);
        bench.assert_usable().await;
    }
}

pub async fn a_processed_message_that_can_no_longer_be_read_is_a_duplicate<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let envelope = envelope([]);
    assert_eq!(bench.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    let harness = Arc::clone(&bench.harness);
    let registration = HandlerRegistration::new::<ReadsNothing>(CONSUMER, "obey");
    let later =
        Bench::<H>::on(harness, StoreOptions::default(), |b| b.register(registration)).await;
    assert_eq!(later.dispatch(&envelope).await.unwrap(), Outcome::SkippedDuplicate);
    let fresh = crate::command::envelope([]);
    let _ = later.dispatch(&fresh).await.permanent(Kind::Decode);
}

pub async fn the_payload_is_decoded_once_for_each_handler_and_run<H: Harness>() {
    let bench =
        Bench::<H>::with(|b| b.register(handler::<H, 0>("a")).register(handler::<H, 1>("b"))).await;
    assert_eq!(bench.dispatch(&envelope([])).await.unwrap(), Outcome::Processed);
    assert_eq!(Command::decoded(), 2);
}
