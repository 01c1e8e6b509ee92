//! Messages that are marked processed on purpose.

use inbox::{Envelope, Outcome, SkipError};

use crate::bench::{Bench, id_of};
use crate::command::envelope;
use crate::harness::Harness;

pub async fn a_skipped_message_is_a_duplicate_from_then_on<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let message = envelope([]);
    assert!(bench.consumer().skip(id_of(&message), "it was refunded by hand").await.unwrap());
    assert!(!bench.consumer().skip(id_of(&message), "once more").await.unwrap());
    assert!(bench.has_row(&message).await);
    assert_eq!(bench.dispatch(&message).await.unwrap(), Outcome::SkippedDuplicate);
    let batch = [message, envelope([])];
    let answers = bench.dispatch_batch(&batch).await;
    let outcomes: Vec<Outcome> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(outcomes, [Outcome::SkippedDuplicate, Outcome::Processed]);
    assert_eq!(bench.probe.starts(), 1);
}

pub async fn a_skip_knows_no_event_type_so_no_id_is_used_again<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let message = envelope([]);
    assert!(bench.consumer().skip(id_of(&message), "unreadable").await.unwrap());
    let other = Envelope::new(id_of(&message), "conformance.unknown.v1", "{}");
    assert_eq!(bench.dispatch(&other).await.unwrap(), Outcome::SkippedDuplicate);
}

pub async fn a_processed_message_is_not_skipped<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let message = envelope([]);
    assert_eq!(bench.dispatch(&message).await.unwrap(), Outcome::Processed);
    assert!(!bench.consumer().skip(id_of(&message), "too late").await.unwrap());
    bench.assert_committed_once(&message).await;
}

pub async fn a_skip_without_a_reason_is_refused<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let message = envelope([]);
    for reason in ["", " \t", &"x".repeat(1_025)] {
        let refused = bench.consumer().skip(id_of(&message), reason).await;
        assert!(matches!(refused, Err(SkipError::Reason(_))), "{refused:?}");
    }
    assert!(!bench.has_row(&message).await);
}
