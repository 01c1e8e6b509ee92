//! Handlers return Ok; the pair was processed before.

use inbox::{DispatchErrorKind as Kind, InboxBuilder, NoStore, Outcome};
use tokio::task::JoinSet;

use crate::answer::{Attempt, Failed};
use crate::bench::{Bench, CONSUMER, handler};
use crate::command::{COMMAND, End, envelope};
use crate::harness::Harness;
use crate::rows::in_flight::two_inboxes;

pub async fn handlers_that_return_ok_are_committed_with_the_dedup_row<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(End::Ok).await;
    assert_eq!(answer.unwrap(), Outcome::Processed);
    assert_eq!(bench.effects_of(&envelope).await, ["0"]);
    assert_eq!(bench.plan.calls(), ["claim", "commit"]);
    bench.assert_committed_once(&envelope).await;
}

pub async fn a_pair_processed_before_is_skipped_and_its_handlers_are_not_started<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(End::Ok).await;
    assert_eq!(answer.unwrap(), Outcome::Processed);
    for _ in 0..5 {
        assert_eq!(bench.dispatch(&envelope).await.unwrap(), Outcome::SkippedDuplicate);
    }
    assert_eq!(bench.probe.starts(), 1);
    assert_eq!(bench.effects_of(&envelope).await, ["0"]);
    assert_eq!(bench.harness.dedup_rows(CONSUMER).await.len(), 1);
}

pub async fn of_25_messages_and_2_racers_25_are_processed_and_25_skipped<H: Harness>() {
    let (a, b) = two_inboxes::<H>().await;
    let envelopes: Vec<_> = (0..25).map(|_| envelope([])).collect();
    let mut running = JoinSet::new();
    for envelope in &envelopes {
        for bench in [&a, &b] {
            let (consumer, envelope) = (bench.consumer(), envelope.clone());
            running.spawn(async move { consumer.dispatch(&envelope).await });
        }
    }
    let answers: Vec<_> = running.join_all().await.into_iter().map(Result::unwrap).collect();
    let count = |outcome| answers.iter().filter(|answer| **answer == outcome).count();
    assert_eq!((count(Outcome::Processed), count(Outcome::SkippedDuplicate)), (25, 25));
    for envelope in &envelopes {
        let id = crate::bench::id_of(envelope).to_string();
        assert_eq!(a.probe.starts_of(0, &id) + b.probe.starts_of(0, &id), 1);
        assert_eq!(a.effects_of(envelope).await, ["0"]);
    }
}

pub async fn a_message_handed_in_without_its_consumer_is_told_the_consumers<H: Harness>() {
    let two = |builder: InboxBuilder<NoStore>| {
        let other = inbox::HandlerRegistration::new::<crate::Obey<H, 1>>("another", "obey");
        builder.register(handler::<H, 0>("obey")).register(other)
    };
    let bench = Bench::<H>::with(two).await;
    let envelope = envelope([]);
    let error = bench
        .inbox
        .dispatch(&envelope)
        .await
        .transient(Kind::ConsumerAmbiguous, Attempt::NotCounted);
    let text = error.to_string();
    assert!(text.contains(CONSUMER) && text.contains("another"), "{text}");
    let unknown = bench.inbox.consumer("nobody").unwrap_err().to_string();
    assert!(unknown.contains(CONSUMER) && unknown.contains("another"), "{unknown}");
    assert_eq!(bench.dispatch(&envelope).await.unwrap(), Outcome::Processed);
}

pub async fn an_inbox_of_one_consumer_takes_messages_without_its_name<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let envelope = envelope([]);
    assert_eq!(bench.inbox.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    assert_eq!(bench.dispatch(&envelope).await.unwrap(), Outcome::SkippedDuplicate);
    assert_eq!(bench.consumer().name(), CONSUMER);
}

pub async fn a_missing_or_malformed_trace_context_never_stops_processing<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for traceparent in [good, "", "00-zz", "\u{0}", "00-00000000000000000000000000000000-0-0"] {
        let traced = envelope([]).with_header("traceparent", traceparent);
        assert_eq!(bench.dispatch(&traced).await.unwrap(), Outcome::Processed, "{traceparent}");
    }
}

pub async fn a_payload_in_any_json_content_type_is_processed<H: Harness>() {
    let bench = Bench::<H>::start().await;
    for content_type in ["application/json", "application/vnd.shop+json; charset=utf-8"] {
        let envelope = envelope([]).with_content_type(content_type);
        assert_eq!(envelope.event_type(), COMMAND);
        assert_eq!(bench.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    }
}
