//! Serialization failures and deadlocks are retried inside, with fresh everything.

use inbox::{DispatchErrorKind as Kind, Fault, Outcome};
use tracing::Level;

use crate::answer::{Attempt, Failed, link};
use crate::bench::{Bench, id_of};
use crate::command::{Command, End, envelope};
use crate::harness::Harness;
use crate::logs::Logs;
use crate::plan::{ClaimFault, CommitFault, Injected};

const SERIALIZATION: Fault = Fault::Serialization;

pub async fn a7_nothing_of_a_run_survives_into_its_retry<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::Refused(SERIALIZATION); 3]);
    let logs = Logs::start();
    let (envelope, answer) = bench.run(End::Ok).await;
    assert_eq!(answer.unwrap(), Outcome::Processed);
    assert_eq!(bench.plan.calls(), ["claim", "commit"].repeat(4), "a fresh transaction each");
    assert_eq!(Command::decoded(), 4, "a fresh event each");
    assert_eq!(bench.probe.extracted(), 4, "fresh extractors each");
    assert_eq!(bench.probe.starts_of(0, &id_of(&envelope).to_string()), 4);
    assert_eq!(bench.effects_of(&envelope).await, ["0"], "writes of a run that was rolled back");
    assert_eq!(logs.of_the_inbox(Level::INFO).len(), 3, "each retry is told");
    bench.assert_committed_once(&envelope).await;
}

pub async fn a_claim_that_fails_to_serialize_is_retried_inside<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.claims([ClaimFault::Fails(SERIALIZATION); 3]);
    let (envelope, answer) = bench.run(End::Ok).await;
    assert_eq!(answer.unwrap(), Outcome::Processed);
    assert_eq!(bench.probe.starts(), 1);
    bench.assert_committed_once(&envelope).await;
}

pub async fn a_store_that_never_serializes_is_a_transient_store_error_in_the_end<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::Refused(SERIALIZATION); 4]);
    let (envelope, answer) = bench.run(End::Ok).await;
    let _ = answer.transient(Kind::Store, Attempt::Counted);
    assert_eq!(bench.probe.starts(), 4);
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a_serialization_failure_inside_the_handlers_error_is_retried_inside<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(End::SerializationFailure).await;
    let error = answer.transient(Kind::Handler, Attempt::Counted);
    let _: &Injected = link(&error);
    assert_eq!(bench.plan.calls(), ["claim", "rollback"].repeat(4));
    assert_eq!((bench.probe.starts(), Command::decoded(), bench.probe.extracted()), (4, 4, 4));
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a_serialization_failure_marked_permanent_is_retried_and_stays_transient<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(End::PermanentSerializationFailure).await;
    let error = answer.transient(Kind::Handler, Attempt::Counted);
    assert!(!error.to_string().contains("permanent"), "{error}");
    assert_eq!(bench.plan.calls(), ["claim", "rollback"].repeat(4));
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

/// The first run's COMMIT was refused, so there is nothing that nobody knows.
pub async fn a_deadline_that_passes_in_a_retry_is_no_unknown_commit<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::Refused(SERIALIZATION)]);
    bench.plan.claims([ClaimFault::None, ClaimFault::Stalls]);
    let (envelope, answer) = bench.run(End::Ok).await;
    let _ = answer.transient(Kind::Store, Attempt::Counted);
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn c5_a_retry_waits_without_a_connection<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::Refused(SERIALIZATION); 3]);
    let (retried, between) = (envelope([]), envelope([]));
    let other = async {
        // The first run has been refused; on a pool of one, the message below needs its connection.
        bench.plan.claim_asked().await;
        bench.dispatch(&between).await
    };
    let (retried_answer, between_answer) = tokio::join!(bench.dispatch(&retried), other);
    assert_eq!(retried_answer.unwrap(), Outcome::Processed);
    assert_eq!(between_answer.unwrap(), Outcome::Processed);
    let held = bench.plan.held_at_claims();
    assert!(held.iter().all(|held| !held), "a connection was held over a wait: {held:?}");
    bench.assert_committed_once(&retried).await;
}

pub async fn other_failures_are_not_retried_inside<H: Harness>() {
    for fault in [Fault::Other, Fault::Busy] {
        let bench = Bench::<H>::start().await;
        bench.plan.claims([ClaimFault::Fails(fault)]);
        let (envelope, answer) = bench.run(End::Ok).await;
        let attempt = if fault == Fault::Busy { Attempt::NotCounted } else { Attempt::Counted };
        let error = answer.transient(Kind::Store, attempt);
        let _: &Injected = link(&error);
        assert_eq!((bench.plan.calls(), bench.probe.starts()), (vec!["claim"], 0));
        bench.assert_rolled_back_and_reprocessed(&envelope).await;
    }
}
