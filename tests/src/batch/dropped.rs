//! The future of a batch is dropped, at any await.

use inbox::Outcome;

use super::answers::{assert_true, good};
use crate::abandon::at_most;
use crate::bench::Bench;
use crate::command::{End, envelope};
use crate::harness::Harness;

/// More awaits than a batch of five has.
const AWAITS: u32 = 200;

/// A few batches that came through are not the end: see the drops of a single dispatch.
const WHOLE: u32 = 10;

pub async fn a_batch_dropped_at_any_await_is_exactly_once_after_redelivery<H: Harness>() {
    assert_exactly_once::<H>(None).await;
}

pub async fn a_batch_with_a_poison_dropped_at_any_await_is_exactly_once<H: Harness>() {
    assert_exactly_once::<H>(Some(End::Error)).await;
}

async fn assert_exactly_once<H: Harness>(poison: Option<End>) {
    let bench = Bench::<H>::start().await;
    let (mut dropped, mut whole) = (0, 0);
    for polls in (1..=AWAITS).cycle().take(500) {
        let mut envelopes = good(5);
        if let Some(end) = &poison {
            envelopes[3] = envelope([end.clone()]);
        }
        match at_most(polls, bench.dispatch_batch(&envelopes)).await {
            None => dropped += 1,
            Some(answers) => {
                assert_true(&bench, &envelopes, &answers).await;
                whole += 1;
            }
        }
        if poison.is_some() {
            envelopes.remove(3);
        }
        redeliver(&bench, &envelopes).await;
        assert_eq!(bench.plan.open(), 0, "a unit of work was left open");
        for envelope in &envelopes {
            assert_eq!(bench.effects_of(envelope).await, ["0"], "dropped after {polls} polls");
            assert!(bench.has_row(envelope).await, "dropped after {polls} polls");
        }
        if whole >= WHOLE && dropped > 0 {
            break;
        }
    }
    assert!(dropped > 0 && whole >= WHOLE, "{dropped} dropped, {whole} whole");
}

/// As a transport does: what was not counted is delivered again.
async fn redeliver<H: Harness>(bench: &Bench<H>, envelopes: &[inbox::Envelope]) {
    for envelope in envelopes {
        let mut answer = bench.dispatch(envelope).await;
        while answer.as_ref().is_err_and(|error| !error.counts_attempt()) {
            answer = bench.dispatch(envelope).await;
        }
        assert_ne!(answer.expect("the redelivery"), Outcome::Ignored);
    }
}

pub async fn a_stopping_inbox_takes_no_more_batches_and_finishes_what_runs<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let mut envelopes = good(4);
    envelopes[1] = envelope([End::Wait(Box::new(End::Error))]);
    let stop = bench.inbox.stop_handle();
    let stopping = async {
        bench.probe.arrived().await;
        let stopped = stop.stop();
        tokio::pin!(stopped);
        let early = tokio::time::timeout(std::time::Duration::ZERO, &mut stopped).await;
        assert!(early.is_err(), "stopped while a batch was running");
        let refused = bench.consumer().dispatch_batch(&good(2)).await;
        bench.probe.open();
        bench.probe.open();
        stopped.await;
        refused
    };
    let consumer = bench.consumer();
    let (answers, refused) = tokio::join!(consumer.dispatch_batch(&envelopes), stopping);
    assert_true(&bench, &envelopes, &answers).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 3);
    for answer in refused {
        let error = answer.unwrap_err();
        assert_eq!(error.kind(), inbox::DispatchErrorKind::Stopping);
        assert!(!error.counts_attempt());
    }
}
