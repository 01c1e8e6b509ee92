//! A twin is in flight; the pool is busy.

use std::time::Duration;

use inbox::{DispatchErrorKind as Kind, Fault, Outcome, StoreError};

use crate::answer::{Attempt, Failed, link};
use crate::bench::{Bench, handler};
use crate::command::{End, envelope};
use crate::harness::{Harness, StoreOptions};
use crate::plan::ClaimFault;

/// Long enough for a store to say that it is busy; nothing depends on how long it takes.
const SOON: Duration = Duration::from_secs(1);

pub async fn c3_a_twin_that_commits_within_the_claim_wait_makes_ours_a_duplicate<H: Harness>() {
    let (winner, loser) = two_inboxes::<H>().await;
    let envelope = envelope([End::Wait(Box::new(End::Ok))]);
    let steer = async {
        loser.plan.claim_asked().await;
        winner.probe.open();
    };
    let late = async {
        winner.probe.arrived().await;
        loser.dispatch(&envelope).await
    };
    let (won, lost, ()) = tokio::join!(winner.dispatch(&envelope), late, steer);
    assert_eq!(won.unwrap(), Outcome::Processed);
    assert_eq!(lost.unwrap(), Outcome::SkippedDuplicate);
    assert_eq!((winner.probe.starts(), loser.probe.starts()), (1, 0), "the loser was started");
    winner.assert_committed_once(&envelope).await;
}

pub async fn a_twin_that_fails_within_the_claim_wait_lets_ours_run<H: Harness>() {
    let (first, second) = two_inboxes::<H>().await;
    let envelope = envelope([End::Wait(Box::new(End::Error))]);
    second.probe.mend();
    let steer = async {
        second.plan.claim_asked().await;
        first.probe.open();
    };
    let late = async {
        first.probe.arrived().await;
        second.dispatch(&envelope).await
    };
    let (failed, ran, ()) = tokio::join!(first.dispatch(&envelope), late, steer);
    let _ = failed.transient(Kind::Handler, Attempt::Counted);
    assert_eq!(ran.unwrap(), Outcome::Processed);
    assert_eq!(second.probe.starts(), 1);
    second.assert_committed_once(&envelope).await;
}

pub async fn a_twin_in_flight_longer_than_the_claim_wait_is_in_flight_and_not_counted<
    H: Harness,
>() {
    let winner = Bench::<H>::start().await;
    let options = StoreOptions { wait: SOON, ..StoreOptions::default() };
    let harness = std::sync::Arc::clone(&winner.harness);
    let loser =
        Bench::<H>::on(harness, options, |b| b.claim_wait(SOON).register(handler::<H, 0>("obey")))
            .await;
    let envelope = envelope([End::Wait(Box::new(End::Ok))]);
    let late = async {
        winner.probe.arrived().await;
        let answer = loser.dispatch(&envelope).await;
        winner.probe.open();
        answer
    };
    let (won, lost) = tokio::join!(winner.dispatch(&envelope), late);
    assert_eq!(won.unwrap(), Outcome::Processed);
    if H::FEATURES.in_flight {
        let _ = lost.transient(Kind::InFlight, Attempt::NotCounted);
    } else {
        let error = lost.transient(Kind::Store, Attempt::NotCounted);
        assert_eq!(link::<StoreError>(&error).fault(), Fault::Busy);
    }
    assert_eq!(loser.probe.starts(), 0);
    loser.assert_committed_once(&envelope).await;
}

pub async fn a_pair_in_flight_is_asked_for_again_until_it_is_free<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.claims([ClaimFault::InFlight; 3]);
    let (envelope, answer) = bench.run(End::Ok).await;
    assert_eq!(answer.unwrap(), Outcome::Processed);
    assert_eq!(bench.plan.calls(), ["claim", "claim", "claim", "claim", "commit"]);
    bench.assert_committed_once(&envelope).await;
}

pub async fn a_pair_in_flight_is_given_up_after_the_claim_wait<H: Harness>() {
    let bench = Bench::<H>::with(|builder| {
        builder.claim_wait(Duration::ZERO).register(handler::<H, 0>("obey"))
    })
    .await;
    bench.plan.claims([ClaimFault::InFlight]);
    let (envelope, answer) = bench.run(End::Ok).await;
    let _ = answer.transient(Kind::InFlight, Attempt::NotCounted);
    assert_eq!(bench.plan.calls(), ["claim"]);
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a_pool_without_a_free_connection_is_transient_and_not_counted<H: Harness>() {
    let harness = std::sync::Arc::new(H::start().await);
    let options = StoreOptions { wait: SOON, ..StoreOptions::default() };
    let bench = Bench::<H>::on(harness, options, |b| b.register(handler::<H, 0>("obey"))).await;
    let (holding, crowded) = (envelope([End::Wait(Box::new(End::Ok))]), envelope([]));
    let late = async {
        bench.probe.arrived().await;
        let answer = bench.dispatch(&crowded).await;
        bench.probe.open();
        answer
    };
    let (held, refused) = tokio::join!(bench.dispatch(&holding), late);
    assert_eq!(held.unwrap(), Outcome::Processed);
    let error = refused.transient(Kind::Store, Attempt::NotCounted);
    assert_eq!(link::<StoreError>(&error).fault(), Fault::Busy);
    bench.assert_rolled_back_and_reprocessed(&crowded).await;
}

pub async fn c7_dispatches_at_once_on_a_pool_of_one_all_end<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..25 {
        let consumer = bench.consumer();
        running.spawn(async move { consumer.dispatch(&envelope([])).await });
    }
    for answer in running.join_all().await {
        assert_eq!(answer.unwrap(), Outcome::Processed);
    }
    assert_eq!(bench.harness.effects().await.len(), 25);
}

/// Two inboxes on one database, as two instances of a service have them.
pub(crate) async fn two_inboxes<H: Harness>() -> (Bench<H>, Bench<H>) {
    let first = Bench::<H>::start().await;
    let second = first.twin(StoreOptions::default()).await;
    (first, second)
}
