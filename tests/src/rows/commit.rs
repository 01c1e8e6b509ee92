//! A constraint fails at commit; the answer to the commit is lost.

use std::sync::Arc;

use inbox::{
    DispatchErrorKind as Kind, Envelope, Escape, Fault, InboxBuilder, NoStore, Outcome, StoreError,
};

use crate::answer::{Attempt, Failed, link};
use crate::bench::{Bench, id_of};
use crate::command::{End, envelope};
use crate::harness::{Harness, StoreOptions};
use crate::plan::{ClaimFault, CommitFault};
use crate::rows::unhandled::{OTHER, Other};

pub async fn a3_a_deferred_constraint_that_fails_at_commit_rolls_back_and_the_next_delivery_runs<
    H: Harness,
>() {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(End::DeferredViolation).await;
    let error = answer.transient(Kind::Store, Attempt::Counted);
    let cause: &StoreError = link(&error);
    assert!(cause.code().is_some(), "{cause:?}");
    if H::FEATURES.names_constraints {
        assert_eq!(cause.constraint(), Some("children_parent"));
    }
    assert!(!format!("{error:#} {error:?} {cause:?}").contains("orphan"), "{error:?}");
    assert_eq!(bench.probe.starts(), 1);
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
    assert_eq!(bench.probe.starts_of(0, &id_of(&envelope).to_string()), 2);
}

pub async fn a3_a_refused_commit_leaves_nothing_and_the_next_delivery_runs<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::Refused(Fault::Other)]);
    let (envelope, answer) = bench.run(End::Ok).await;
    let _ = answer.transient(Kind::Store, Attempt::Counted);
    assert_eq!(bench.plan.calls(), ["claim", "commit"], "it was tried again inside");
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a_commit_refused_because_the_database_is_busy_counts_its_attempt<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::Refused(Fault::Busy)]);
    let (envelope, answer) = bench.run(End::Ok).await;
    let _ = answer.transient(Kind::Store, Attempt::Counted);
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn what_the_store_says_of_a_commit_is_what_is_answered<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::Aborted]);
    let (envelope, answer) = bench.run(End::Ok).await;
    let error = answer.transient(Kind::TransactionAborted, Attempt::Counted);
    assert_eq!(error.handler(), Some("obey"));
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
    for escape in [Escape::Committed, Escape::RolledBack] {
        bench.plan.commits([CommitFault::Escaped(escape)]);
        let error = bench.run(End::Ok).await.1.permanent(Kind::TransactionEscaped);
        assert_eq!(error.escape(), Some(escape));
    }
}

pub async fn a_commit_without_answer_whose_row_is_there_is_processed<H: Harness>() {
    let bench = Bench::<H>::start().await;
    for fault in [CommitFault::UnknownCommitted, CommitFault::StallsCommitted] {
        bench.plan.commits([fault]);
        let (envelope, answer) = bench.run(End::Ok).await;
        assert_eq!(answer.unwrap(), Outcome::Processed, "{fault:?}");
        bench.assert_committed_once(&envelope).await;
    }
}

pub async fn a_commit_without_answer_whose_row_is_not_there_is_a_store_error<H: Harness>() {
    for fault in [CommitFault::UnknownRolledBack, CommitFault::StallsRolledBack] {
        let bench = Bench::<H>::start().await;
        bench.plan.commits([fault]);
        let (envelope, answer) = bench.run(End::Ok).await;
        let _ = answer.transient(Kind::Store, Attempt::Counted);
        assert_eq!(bench.probe.starts(), 1, "handlers were run by the claim that finds out");
        bench.assert_rolled_back_and_reprocessed(&envelope).await;
    }
}

pub async fn a_commit_nobody_answers_for_until_the_deadline_is_unknown<H: Harness>() {
    let bench = Bench::<H>::start().await;
    for fault in [ClaimFault::InFlight, ClaimFault::Fails(Fault::Other)] {
        bench.plan.commits([CommitFault::UnknownCommitted]);
        let mut claims = vec![ClaimFault::None, fault, fault];
        claims.push(ClaimFault::Stalls);
        bench.plan.claims(claims);
        let envelope = envelope([]);
        let _ = bench.dispatch(&envelope).await.transient(Kind::CommitUnknown, Attempt::Counted);
        bench.assert_committed_once(&envelope).await;
    }
}

pub async fn a_commit_being_found_out_about_waits_for_a_pair_that_is_held<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::UnknownCommitted]);
    let busy = ClaimFault::Fails(Fault::Busy);
    bench.plan.claims([ClaimFault::None, ClaimFault::InFlight, busy, ClaimFault::InFlight]);
    let (envelope, answer) = bench.run(End::Ok).await;
    assert_eq!(answer.unwrap(), Outcome::Processed);
    bench.assert_committed_once(&envelope).await;
}

/// While it is being found out about, another message takes the id: its row is no proof of ours.
pub async fn a_commit_without_answer_is_not_proven_by_the_row_of_another_message<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::UnknownRolledBack]);
    bench.plan.claims([ClaimFault::None]);
    bench.plan.claims([ClaimFault::InFlight; 1000]);
    let ours = envelope([]);
    let theirs = Envelope::new(id_of(&ours), OTHER, "{}");
    let other = async {
        bench.plan.claim_asked().await;
        bench.plan.claim_asked().await;
        let register = |builder: InboxBuilder<NoStore>| builder.register(Other::registration());
        let harness = Arc::clone(&bench.harness);
        let other = Bench::<H>::on(harness, StoreOptions::default(), register).await;
        let answer = other.dispatch(&theirs).await;
        bench.plan.claims_succeed();
        answer
    };
    let (ours_answer, theirs_answer) = tokio::join!(bench.dispatch(&ours), other);
    assert_eq!(theirs_answer.unwrap(), Outcome::Processed);
    let _ = ours_answer.permanent(Kind::IdReused);
    assert_eq!(bench.effects_of(&ours).await, [] as [&str; 0]);
}
