//! K1, K4, K6, K8: the dedup key and what is no part of it.

use std::sync::Arc;

use inbox::{DispatchErrorKind as Kind, Envelope, HandlerRegistration, Outcome};
use uuid::Uuid;

use crate::answer::{Attempt, Failed};
use crate::bench::{Bench, CONSUMER, handler};
use crate::command::{COMMAND, End, envelope};
use crate::harness::{Harness, StoreOptions};
use crate::obey::Obey;

pub async fn k1_two_consumers_of_one_message_both_run_once<H: Harness>() {
    let other = HandlerRegistration::new::<Obey<H, 1>>("another", "obey");
    let bench = Bench::<H>::with(|b| b.register(handler::<H, 0>("obey")).register(other)).await;
    let envelope = envelope([]);
    for name in [CONSUMER, "another"] {
        let consumer = bench.inbox.consumer(name).unwrap();
        assert_eq!(consumer.dispatch(&envelope).await.unwrap(), Outcome::Processed, "{name}");
        assert_eq!(consumer.dispatch(&envelope).await.unwrap(), Outcome::SkippedDuplicate);
        assert_eq!(bench.harness.dedup_rows(name).await, [crate::bench::id_of(&envelope)]);
    }
    assert_eq!(bench.effects_of(&envelope).await, ["0", "1"]);
}

pub async fn k4_the_id_is_the_producers_and_a_missing_one_is_an_error<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let one = envelope([]);
    let same_body = Envelope::new(Uuid::new_v4(), COMMAND, one.payload());
    let other_body =
        Envelope::new(crate::bench::id_of(&one), COMMAND, envelope([End::Ok, End::Ok]).payload());
    assert_eq!(bench.dispatch(&one).await.unwrap(), Outcome::Processed);
    assert_eq!(bench.dispatch(&same_body).await.unwrap(), Outcome::Processed);
    assert_eq!(bench.dispatch(&other_body).await.unwrap(), Outcome::SkippedDuplicate);
    let without = Envelope::new(None::<&str>, COMMAND, one.payload()).with_source("shop");
    for _ in 0..2 {
        let _ = bench.dispatch(&without).await.permanent(Kind::InvalidEnvelope);
    }
    assert_eq!(bench.probe.starts(), 2);
}

pub async fn k4_a_text_id_is_the_same_message_on_every_redelivery<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let payload = envelope([]).payload().to_vec();
    let from = |source| Envelope::new("evt_1", COMMAND, payload.clone()).with_source(source);
    assert_eq!(bench.dispatch(&from("shop")).await.unwrap(), Outcome::Processed);
    assert_eq!(bench.dispatch(&from("shop")).await.unwrap(), Outcome::SkippedDuplicate);
    assert_eq!(bench.dispatch(&from("depot")).await.unwrap(), Outcome::Processed);
}

pub async fn k6_a_retry_later_never_writes_the_dedup_row<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let envelope = envelope([End::Error]);
    for _ in 0..3 {
        let _ = bench.dispatch(&envelope).await.transient(Kind::Handler, Attempt::Counted);
        assert!(!bench.has_row(&envelope).await);
    }
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn k8_renaming_or_moving_the_function_changes_nothing<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let envelope = envelope([]);
    assert_eq!(bench.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    let renamed = HandlerRegistration::new::<Obey<H, 7>>(CONSUMER, "renamed").in_crate("moved");
    let later = Bench::<H>::on(Arc::clone(&bench.harness), StoreOptions::default(), |b| {
        b.register(renamed)
    })
    .await;
    assert_eq!(later.dispatch(&envelope).await.unwrap(), Outcome::SkippedDuplicate);
    assert_eq!(later.probe.starts(), 0);
}
