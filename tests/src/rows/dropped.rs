//! The dispatch future is dropped, at any await.

use inbox::{Envelope, Outcome};

use crate::abandon::at_most;
use crate::bench::Bench;
use crate::command::{End, envelope};
use crate::harness::Harness;

/// As a transport does: what was not counted is delivered again. A server may take a while to notice
/// that the connection which holds the pair was closed.
async fn redeliver<H: Harness>(bench: &Bench<H>, envelope: &Envelope) -> Outcome {
    for _ in 0..5 {
        match bench.dispatch(envelope).await {
            Err(error) if error.is_transient() && !error.counts_attempt() => {}
            answer => return answer.expect("the redelivery"),
        }
    }
    panic!("the pair is still held");
}

/// More awaits than a dispatch has.
const AWAITS: u32 = 100;

/// Tries at most.
const ENOUGH: usize = 500;

/// A server that answers before it is asked for its answer makes an await no stop: so a few dispatches
/// that came through are not the end.
const WHOLE: u32 = 5;

pub async fn a_dispatch_dropped_at_any_await_is_exactly_once_after_redelivery<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (mut dropped, mut whole) = (0, 0);
    for polls in (0..AWAITS).cycle().take(ENOUGH) {
        let envelope = envelope([]);
        let answer = at_most(polls, bench.dispatch(&envelope)).await;
        let redelivered = redeliver(&bench, &envelope).await;
        match answer {
            None => {
                assert_ne!(redelivered, Outcome::Ignored);
                dropped += u32::from(polls > 0);
            }
            Some(answer) => {
                assert_eq!(answer.expect("the whole dispatch"), Outcome::Processed);
                assert_eq!(redelivered, Outcome::SkippedDuplicate);
                whole += 1;
            }
        }
        assert_eq!(bench.effects_of(&envelope).await, ["0"], "dropped after {polls} polls");
        assert!(bench.has_row(&envelope).await, "dropped after {polls} polls");
        assert_eq!(bench.plan.open(), 0, "a unit of work was left open");
        if whole >= WHOLE && dropped > 0 {
            break;
        }
    }
    assert!(dropped > 0 && whole >= WHOLE, "{dropped} dropped, {whole} whole");
}

pub async fn a_dispatch_dropped_while_its_handler_runs_is_rolled_back<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let envelope = envelope([End::Wait(Box::new(End::Ok))]);
    tokio::select! {
        _ = bench.dispatch(&envelope) => panic!("nobody has opened the gate"),
        () = bench.probe.arrived() => {}
    }
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a_failing_dispatch_dropped_at_any_await_leaves_nothing<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (mut dropped, mut whole) = (0, 0);
    for polls in (0..AWAITS).cycle().take(ENOUGH) {
        let envelope = envelope([End::Error]);
        match at_most(polls, bench.dispatch(&envelope)).await {
            None => dropped += u32::from(polls > 0),
            Some(answer) => {
                let _ = answer.expect_err("the whole dispatch");
                whole += 1;
            }
        }
        assert_eq!(bench.plan.open(), 0, "a unit of work was left open");
        bench.assert_usable().await;
        assert_eq!(bench.effects_of(&envelope).await, [] as [&str; 0], "after {polls} polls");
        assert!(!bench.has_row(&envelope).await, "dropped after {polls} polls");
        if whole >= WHOLE && dropped > 0 {
            break;
        }
    }
    assert!(dropped > 0 && whole >= WHOLE, "{dropped} dropped, {whole} whole");
}
