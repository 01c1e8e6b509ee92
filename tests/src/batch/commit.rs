//! The commit of a batch is refused, or its answer is lost.

use std::sync::Arc;

use inbox::{DispatchErrorKind as Kind, Envelope, Escape, Fault, InboxBuilder, NoStore, Outcome};
use tracing::Level;

use super::answers::{assert_processed, assert_redelivered, assert_true, good, others_processed};
use crate::answer::{Attempt, Failed};
use crate::bench::{Bench, id_of};
use crate::command::{Command, End, envelope};
use crate::harness::{Harness, StoreOptions};
use crate::logs::Logs;
use crate::plan::{ClaimFault, CommitFault};
use crate::rows::unhandled::{OTHER, Other};

pub async fn a_refused_commit_of_a_batch_is_tried_again_in_halves<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::Refused(Fault::Other)]);
    let envelopes = good(10);
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_processed(&answers);
    assert_true(&bench, &envelopes, &answers).await;
    let calls = bench.plan.calls();
    let of = |what| calls.iter().filter(|call| **call == what).count();
    assert_eq!((of("open"), of("commit")), (3, 3), "{calls:?}");
    assert_redelivered(&bench, &envelopes).await;
}

pub async fn a_batch_of_which_every_commit_is_refused_is_answered_one_by_one<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::Refused(Fault::Other); 100]);
    let envelopes = good(10);
    let answers = bench.dispatch_batch(&envelopes).await;
    for answer in answers {
        let _ = answer.transient(Kind::Store, Attempt::Counted);
    }
    for envelope in &envelopes {
        let starts = bench.probe.starts_of(0, &id_of(envelope).to_string());
        assert!((2..=5).contains(&starts), "a half each time, and once apart: {starts}");
    }
}

pub async fn a_deadlock_is_never_tried_again_with_as_many_messages<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::Refused(Fault::Serialization); 3]);
    let logs = Logs::start();
    let envelopes = good(8);
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_processed(&answers);
    assert_true(&bench, &envelopes, &answers).await;
    assert!(!logs.of_the_inbox(Level::INFO).is_empty(), "each retry is told");
    drop(logs);
    // 8, 4 and 2 together have failed; the first two are run apart, the third and fourth together.
    let starts = |i: usize| bench.probe.starts_of(0, &id_of(&envelopes[i]).to_string());
    assert_eq!([0, 1, 2, 3, 4, 7].map(starts), [4, 4, 3, 3, 2, 2]);
    assert_redelivered(&bench, &envelopes).await;
}

pub async fn a_deadlock_inside_a_handlers_error_is_tried_again_in_halves<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let mut envelopes = good(8);
    envelopes[5] = envelope([End::SerializationFailure]);
    let mut answers = bench.dispatch_batch(&envelopes).await;
    assert_true(&bench, &envelopes, &answers).await;
    let _ = answers.remove(5).transient(Kind::Handler, Attempt::Counted);
    assert_processed(&answers);
    assert_redelivered(&bench, &envelopes).await;
}

pub async fn a7_nothing_of_a_shared_run_survives_into_the_next<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::Refused(Fault::Other)]);
    let envelopes = good(4);
    assert_processed(&bench.dispatch_batch(&envelopes).await);
    assert_eq!(Command::decoded(), 8, "a fresh event each");
    assert_eq!(bench.probe.extracted(), 8, "fresh extractors each");
    assert_eq!(bench.harness.effects().await.len(), 4, "writes of a run that was rolled back");
}

pub async fn a_commit_of_a_batch_without_answer_whose_rows_are_there_is_processed<H: Harness>() {
    for fault in [CommitFault::UnknownCommitted, CommitFault::StallsCommitted] {
        let bench = Bench::<H>::start().await;
        bench.plan.commits([fault]);
        let envelopes = good(10);
        let answers = bench.dispatch_batch(&envelopes).await;
        assert_processed(&answers);
        assert_true(&bench, &envelopes, &answers).await;
        assert_eq!(bench.probe.starts(), 10, "{fault:?}");
        assert_redelivered(&bench, &envelopes).await;
    }
}

pub async fn a_commit_of_a_batch_without_answer_whose_rows_are_not_there_is_run_again<
    H: Harness,
>() {
    for fault in [CommitFault::UnknownRolledBack, CommitFault::StallsRolledBack] {
        let bench = Bench::<H>::start().await;
        bench.plan.commits([fault]);
        let envelopes = good(10);
        let answers = bench.dispatch_batch(&envelopes).await;
        assert_processed(&answers);
        assert_true(&bench, &envelopes, &answers).await;
        assert_eq!(bench.probe.starts(), 20, "{fault:?}");
        assert_redelivered(&bench, &envelopes).await;
    }
}

pub async fn a_commit_of_a_batch_nobody_answers_for_is_unknown<H: Harness>() {
    let bench = Bench::<H>::start().await;
    for fault in [ClaimFault::Fails(Fault::Other), ClaimFault::Fails(Fault::Busy)] {
        bench.plan.commits([CommitFault::UnknownCommitted]);
        bench.plan.claims([ClaimFault::None, fault, fault, ClaimFault::Stalls]);
        let envelopes = good(3);
        for answer in bench.dispatch_batch(&envelopes).await {
            let _ = answer.transient(Kind::CommitUnknown, Attempt::Counted);
        }
        assert_redelivered(&bench, &envelopes).await;
    }
}

pub async fn an_aborted_commit_blames_nobody_and_is_run_again_in_parts<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::Aborted]);
    let envelopes = good(40);
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_processed(&answers);
    assert_true(&bench, &envelopes, &answers).await;
    assert!(bench.plan.calls().contains(&"mark"), "{:?}", bench.plan.calls());
    assert_redelivered(&bench, &envelopes).await;
}

pub async fn an_escape_told_at_the_commit_of_a_batch_is_never_a_loss<H: Harness>() {
    let bench = Bench::<H>::start().await;
    // Told as `Committed`, and no row is there: nobody is blamed, and all is run again.
    for escape in [Escape::RolledBack, Escape::Committed] {
        bench.plan.commits([CommitFault::Escaped(escape)]);
        let envelopes = good(10);
        let answers = bench.dispatch_batch(&envelopes).await;
        assert_processed(&answers);
        assert_true(&bench, &envelopes, &answers).await;
        assert_redelivered(&bench, &envelopes).await;
    }
}

/// As for a single message: while it is being found out about, another message takes the id.
pub async fn a_commit_of_a_batch_is_not_proven_by_the_row_of_another_message<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::UnknownRolledBack]);
    bench.plan.claims([ClaimFault::None]);
    bench.plan.claims([ClaimFault::InFlight; 1000]);
    let envelopes = good(4);
    let theirs = Envelope::new(id_of(&envelopes[2]), OTHER, "{}");
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
    let (answers, theirs_answer) = tokio::join!(bench.dispatch_batch(&envelopes), other);
    assert_eq!(theirs_answer.unwrap(), Outcome::Processed);
    let _ = others_processed(answers, 2).permanent(Kind::IdReused);
    assert_eq!(bench.effects_of(&envelopes[2]).await, [] as [&str; 0]);
}

pub async fn a_batch_that_ran_and_is_then_not_opened_again_counts_its_attempts<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.commits([CommitFault::Refused(Fault::Other)]);
    let again = [ClaimFault::Fails(Fault::Busy), ClaimFault::Stalls];
    bench.plan.claims([ClaimFault::None].into_iter().chain(again));
    let envelopes = good(4);
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_true(&bench, &envelopes, &answers).await;
    for answer in answers {
        let _ = answer.transient(Kind::Store, Attempt::Counted);
    }
    assert_redelivered(&bench, &envelopes).await;
}
