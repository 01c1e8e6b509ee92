//! Whole messages, through `dispatch`.

use conformance::{Logs, block_on, cases};
use fixture_memory_store::{MemoryStore, MemoryTx};
use inbox::{
    Argument, Delivery, DispatchErrorKind as Kind, Envelope, FromDelivery, Handler, HandlerFuture,
    HandlerRegistration, Inbox, IntegrationEvent, Outcome,
};
use proptest::prelude::*;
use proptest::sample::select;
use time::{Date, Month, OffsetDateTime};

use crate::input::{text, with_texts};
use crate::payloads::{Order, payload};
use crate::silence::{assert_hidden, assert_silent};

struct Accept;

impl Handler for Accept {
    type Event = Order;
    const ARGUMENTS: &'static [Argument] = &[<MemoryTx<'_> as FromDelivery<'_>>::ARGUMENT];

    fn call<'a>(_: Order, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async move { delivery.extract::<MemoryTx<'_>>().map(drop) })
    }
}

const PAYLOAD_LIMIT: usize = 600;

async fn inbox() -> Inbox<MemoryStore> {
    let handler = HandlerRegistration::new::<Accept>("bad-input", "accept");
    let builder = Inbox::builder().store(MemoryStore::default()).payload_limit(PAYLOAD_LIMIT);
    builder.register(handler).build().await.unwrap()
}

/// A text within the bounds, or not.
fn field() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        4 => Just(None),
        2 => "[a-z]{1,8}".prop_map(Some),
        1 => text().prop_map(Some),
        1 => select(vec!["", " ", "\u{85}", "a\0b", "\u{2003}"]).prop_map(|t| Some(t.to_owned())),
        1 => (1020usize..1030).prop_map(|n| Some("x".repeat(n))),
    ]
}

fn message() -> impl Strategy<Value = Envelope> {
    let event_type = prop_oneof![6 => Just(Order::EVENT_TYPE.to_owned()), 1 => text()];
    let year = prop_oneof![8 => Just(2026), 1 => -9999..=9999i32];
    (field(), event_type, payload(), [field(), field(), field(), field(), field()], year).prop_map(
        |(id, event_type, payload, [source, content, key, c, d], year)| {
            let message = Envelope::new(id, event_type, payload);
            let message = with_texts(message, [source, content, key, c, d]);
            let date = Date::from_calendar_date(year, Month::May, 4).unwrap();
            message.with_occurred_at(OffsetDateTime::new_utc(date, time::Time::MIDNIGHT))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(400, 5_000)))]

    /// A message that is refused is refused for good, and says why in words of ours.
    #[test]
    fn a_message_is_processed_or_refused_for_good_without_a_word_of_it(message in message()) {
        let logs = Logs::start();
        let answer = block_on(async { inbox().await.dispatch(&message).await });
        match answer {
            Ok(outcome) => {
                prop_assert_eq!(outcome, Outcome::Processed);
                prop_assert!(message.payload().len() <= PAYLOAD_LIMIT);
            }
            Err(error) => {
                let kinds = [Kind::InvalidEnvelope, Kind::Unhandled, Kind::Decode];
                prop_assert!(kinds.contains(&error.kind()) && error.is_permanent(), "{:?}", error);
                // The event type is told, for it is no part of the payload.
                if error.event_type() == Order::EVENT_TYPE {
                    assert_silent(&error);
                }
            }
        }
        for line in logs.lines() {
            assert_hidden(&line.text);
        }
    }
}

/// PostgreSQL refuses a year before 4713 BC, for ever: that must not be taken for a failure that passes.
#[test]
fn a_time_that_no_rfc_3339_timestamp_can_be_is_refused_naming_the_field() {
    for (year, is_good) in [(-9999, false), (-1, false), (0, true), (9999, true)] {
        let date = Date::from_calendar_date(year, Month::January, 1).unwrap();
        let time = OffsetDateTime::new_utc(date, time::Time::MIDNIGHT);
        let message = Envelope::new("1", Order::EVENT_TYPE, r#"{"name":"a","quantity":1}"#);
        let message = message.with_source("s").with_occurred_at(time);
        match block_on(async { inbox().await.dispatch(&message).await }) {
            Ok(outcome) => assert!(is_good && outcome == Outcome::Processed, "{year}"),
            Err(error) => {
                assert!(!is_good && error.kind() == Kind::InvalidEnvelope, "{year}: {error:?}");
                assert!(error.to_string().contains("the time is not"), "{error}");
            }
        }
    }
}
