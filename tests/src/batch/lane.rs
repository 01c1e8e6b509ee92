//! One batch of a consumer at a time.

use inbox::{Fault, Outcome};

use super::answers::{assert_processed, assert_redelivered, assert_true, good};
use crate::bench::{Bench, handler};
use crate::command::{End, envelope};
use crate::harness::{Harness, StoreOptions};
use crate::plan::{ClaimFault, CommitFault};

pub async fn a_batch_waits_for_its_turn_without_a_connection<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.claims([ClaimFault::LaneBusy; 3]);
    let envelopes = good(200);
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_processed(&answers);
    assert_true(&bench, &envelopes, &answers).await;
    let calls = bench.plan.calls();
    let of = |what| calls.iter().filter(|call| **call == what).count();
    assert_eq!((of("open"), of("commit"), of("claim")), (4, 1, 0));
    assert_redelivered(&bench, &envelopes).await;
}

pub async fn a_batch_that_waits_too_long_is_dispatched_one_by_one<H: Harness>() {
    let bench = Bench::<H>::with(|builder| {
        builder.claim_wait(std::time::Duration::ZERO).register(handler::<H, 0>("obey"))
    })
    .await;
    bench.plan.claims([ClaimFault::LaneBusy]);
    let envelopes = good(3);
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_processed(&answers);
    assert_eq!(
        bench.plan.calls(),
        ["open"].into_iter().chain(["claim", "commit"].repeat(3)).collect::<Vec<_>>()
    );
    assert_redelivered(&bench, &envelopes).await;
}

pub async fn a_batch_of_another_process_does_not_start_while_one_runs<H: Harness>() {
    if !H::FEATURES.in_flight {
        return; // one writer at a time in any case
    }
    let first = Bench::<H>::start().await;
    let second = first.twin(StoreOptions::default()).await;
    let mut slow = good(3);
    slow[1] = envelope([End::Wait(Box::new(End::Ok))]);
    let other = good(300);
    let late = async {
        first.probe.arrived().await;
        let asked = async {
            second.plan.claim_asked().await;
            second.plan.claim_asked().await; // it was told to wait, and has asked again
            let started = second.probe.starts();
            first.probe.open();
            started
        };
        tokio::join!(second.dispatch_batch(&other), asked)
    };
    let (answers, (others, started)) = tokio::join!(first.dispatch_batch(&slow), late);
    assert_processed(&answers);
    assert_processed(&others);
    assert_eq!(started, 0, "two batches of one consumer were at work at once");
    assert_true(&first, &other, &others).await;
}

pub async fn a_batch_of_duplicates_does_not_wait_for_its_turn<H: Harness>() {
    if !H::FEATURES.in_flight {
        return;
    }
    let first = Bench::<H>::start().await;
    let second = first.twin(StoreOptions::default()).await;
    let known = good(20);
    assert_processed(&first.dispatch_batch(&known).await);
    let mut slow = good(3);
    slow[1] = envelope([End::Wait(Box::new(End::Ok))]);
    let late = async {
        first.probe.arrived().await;
        let answers = second.dispatch_batch(&known).await;
        first.probe.open();
        answers
    };
    let (answers, skipped) = tokio::join!(first.dispatch_batch(&slow), late);
    assert_processed(&answers);
    for answer in skipped {
        assert_eq!(answer.unwrap(), Outcome::SkippedDuplicate);
    }
    assert_eq!(second.plan.calls(), ["open"], "it was answered while the other was running");
}

/// What a worker holds that has processed a message.
async fn held_at_each_opening<H: Harness>(bench: &Bench<H>, fail: impl FnOnce()) -> Vec<bool> {
    bench.assert_usable().await;
    fail();
    let before = bench.plan.held_at_claims().len();
    assert_processed(&bench.dispatch_batch(&good(200)).await);
    bench.plan.held_at_claims().split_off(before)
}

pub async fn who_waits_for_its_turn_gives_its_connection_back<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let busy = || bench.plan.claims([ClaimFault::LaneBusy; 3]);
    let held = held_at_each_opening(&bench, busy).await;
    assert_eq!(held[1..], [false; 3]);
}

pub async fn who_waits_after_a_deadlock_gives_its_connection_back<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let deadlock = || bench.plan.commits([CommitFault::Refused(Fault::Serialization)]);
    let held = held_at_each_opening(&bench, deadlock).await;
    assert!(!held[1], "it did not wait, or held its connection meanwhile: {held:?}");
}

pub async fn who_waits_for_a_batch_of_its_process_gives_its_connection_back<H: Harness>() {
    if !H::FEATURES.in_flight {
        return; // nothing is held between two messages
    }
    let wait = std::time::Duration::from_secs(1);
    let options = StoreOptions { connections: 2, wait, ..StoreOptions::default() };
    let harness = std::sync::Arc::new(H::start().await);
    let bench = Bench::<H>::on(harness, options, |b| b.register(handler::<H, 0>("obey"))).await;
    let mut worker = bench.consumer().worker();
    assert_eq!(worker.dispatch(&envelope([])).await.unwrap(), Outcome::Processed);
    let mut slow = good(3);
    slow[1] = envelope([End::Wait(Box::new(End::Ok))]);
    let waiting = good(300);
    let late = async {
        bench.probe.arrived().await; // the slow batch has one of the two connections
        let third = async {
            let answer = bench.consumer().dispatch(&envelope([])).await;
            bench.probe.open();
            answer
        };
        tokio::join!(worker.dispatch_batch(&waiting), third)
    };
    let (answers, (waited, third)) = tokio::join!(bench.dispatch_batch(&slow), late);
    assert_processed(&answers);
    assert_processed(&waited);
    assert_eq!(third.expect("the other connection was free"), Outcome::Processed);
}
