//! One message of a batch fails: the others are committed, and it is answered as by itself.

use inbox::{DispatchErrorKind as Kind, Envelope, Escape as Told, InboxBuilder, NoStore, Outcome};
use tracing::Level;

use super::answers::{assert_redelivered, assert_true, good, others_processed};
use crate::answer::{Attempt, Failed, link};
use crate::bench::{Bench, handler};
use crate::command::{End, Escape, Then, envelope};
use crate::harness::Harness;
use crate::logs::Logs;
use crate::obey::Refusal;

/// Where in a batch of 40 the poison is: first, last, and in and between the parts of a second run.
const PLACES: [usize; 6] = [0, 1, 15, 16, 27, 39];

fn with_poison(place: usize, end: End) -> Vec<Envelope> {
    let mut envelopes = good(40);
    envelopes[place] = envelope([end]);
    envelopes
}

/// At every place the poison is answered so, and the others are committed.
async fn assert_isolated<H: Harness>(
    end: End,
    is_right: impl Fn(Result<Outcome, inbox::DispatchError>),
) {
    for place in PLACES {
        let bench = Bench::<H>::start().await;
        let envelopes = with_poison(place, end.clone());
        let answers = bench.dispatch_batch(&envelopes).await;
        assert_true(&bench, &envelopes, &answers).await;
        is_right(others_processed(answers, place));
        assert_redelivered(&bench, &envelopes).await;
    }
}

pub async fn p2_of_100_messages_with_one_poison_99_are_committed<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let mut envelopes = good(100);
    envelopes[61] = envelope([End::Error]);
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_true(&bench, &envelopes, &answers).await;
    let commits = bench.plan.calls().iter().filter(|call| **call == "commit").count();
    assert_eq!(commits, 1, "one commit for the good ones");
    let error = others_processed(answers, 61).transient(Kind::Handler, Attempt::Counted);
    assert_eq!(link::<Refusal>(&error), &Refusal(0));
    assert_redelivered(&bench, &envelopes).await;
}

pub async fn a_message_whose_handler_fails_is_isolated<H: Harness>() {
    assert_isolated::<H>(End::Error, |answer| {
        let error = answer.transient(Kind::Handler, Attempt::Counted);
        assert_eq!((error.handler(), link::<Refusal>(&error)), (Some("obey"), &Refusal(0)));
    })
    .await;
}

pub async fn a_message_marked_permanent_is_isolated<H: Harness>() {
    assert_isolated::<H>(End::PermanentBehindLayers, |answer| {
        let _ = answer.permanent(Kind::Handler);
    })
    .await;
}

pub async fn a_message_whose_handler_panics_is_isolated<H: Harness>() {
    assert_isolated::<H>(End::Panic, |answer| {
        let error = answer.transient(Kind::HandlerPanicked, Attempt::Counted);
        assert!(error.to_string().contains("handler 0 panics"), "{error}");
    })
    .await;
}

pub async fn a_message_whose_handler_exceeds_its_timeout_is_isolated<H: Harness>() {
    assert_isolated::<H>(End::Hang, |answer| {
        let _ = answer.transient(Kind::HandlerTimedOut, Attempt::Counted);
    })
    .await;
}

pub async fn a_message_with_a_unique_violation_is_isolated<H: Harness>() {
    assert_isolated::<H>(End::UniqueViolation, |answer| {
        let _ = answer.transient(Kind::Handler, Attempt::Counted);
    })
    .await;
}

pub async fn a_message_with_a_deferred_violation_is_isolated<H: Harness>() {
    assert_isolated::<H>(End::DeferredViolation, |answer| {
        let error = answer.transient(Kind::Store, Attempt::Counted);
        assert!(link::<inbox::StoreError>(&error).code().is_some(), "{error:?}");
    })
    .await;
}

pub async fn a_message_that_swallows_a_failed_statement_is_isolated<H: Harness>() {
    assert_isolated::<H>(End::SwallowFailedStatement, |answer| {
        if H::FEATURES.aborts_on_failed_statement {
            let error = answer.transient(Kind::TransactionAborted, Attempt::Counted);
            assert_eq!(error.handler(), Some("obey"));
        } else {
            assert_eq!(answer.unwrap(), Outcome::Processed);
        }
    })
    .await;
}

pub async fn a_message_with_a_confined_failure_or_a_leaked_savepoint_is_processed<H: Harness>() {
    for end in [End::ConfineFailedStatement, End::LeakSavepoint(Then::Ok)] {
        assert_isolated::<H>(end, |answer| assert_eq!(answer.unwrap(), Outcome::Processed)).await;
    }
}

pub async fn a_message_that_leaks_a_savepoint_and_fails_is_isolated<H: Harness>() {
    assert_isolated::<H>(End::LeakSavepoint(Then::Error), |answer| {
        let _ = answer.transient(Kind::Handler, Attempt::Counted);
    })
    .await;
}

pub async fn a_message_that_ends_the_transaction_is_isolated_whatever_it_then_does<H: Harness>() {
    let plain = [Escape::Commit, Escape::Rollback, Escape::CommitBegin, Escape::RollbackBegin];
    let chained = [Escape::CommitAndChain, Escape::RollbackAndChain];
    let chained = chained.into_iter().filter(|_| H::FEATURES.chains);
    for escape in plain.into_iter().chain(chained) {
        for (then, place) in Then::ALL.into_iter().zip([0, 21, 16, 39]) {
            assert_escape_isolated::<H>(escape, then, place).await;
        }
    }
}

async fn assert_escape_isolated<H: Harness>(escape: Escape, then: Then, place: usize) {
    let bench = Bench::<H>::start().await;
    let envelopes = with_poison(place, End::Escape(escape, then));
    let logs = Logs::start();
    let answers = bench.dispatch_batch(&envelopes).await;
    let loud = logs.of_the_inbox(Level::ERROR);
    assert!(loud.len() == 1 && loud[0].contains("obey"), "{escape:?} {then:?}: {loud:?}");
    drop(logs);
    let goes_through = escape.commits() && !H::FEATURES.refuses_commit;
    if !goes_through {
        assert_true(&bench, &envelopes, &answers).await;
    }
    let error = others_processed(answers, place).permanent(Kind::TransactionEscaped);
    let told = if goes_through { Told::Committed } else { Told::RolledBack };
    assert_eq!((error.escape(), error.handler()), (Some(told), Some("obey")));
    for envelope in &envelopes {
        let left = goes_through || !std::ptr::eq(envelope, &envelopes[place]);
        assert_eq!(bench.effects_of(envelope).await.len(), usize::from(left));
    }
    assert_redelivered(&bench, &envelopes).await;
}

pub async fn an_innocent_message_is_never_blamed_for_an_aborted_transaction<H: Harness>() {
    let two = |builder: InboxBuilder<NoStore>| {
        builder.register(handler::<H, 0>("first")).register(handler::<H, 1>("second"))
    };
    let bench = Bench::<H>::with(two).await;
    let mut envelopes = good(20);
    envelopes[6] = envelope([End::Ok, End::SwallowFailedStatement]);
    let answers = bench.dispatch_batch(&envelopes).await;
    let answer = others_processed(answers, 6);
    if H::FEATURES.aborts_on_failed_statement {
        let error = answer.transient(Kind::TransactionAborted, Attempt::Counted);
        assert_ne!(error.handler(), Some("first"), "{error:?}");
    } else {
        assert_eq!(answer.unwrap(), Outcome::Processed);
    }
}

pub async fn of_a_message_whose_second_handler_fails_nothing_is_left_of_the_first<H: Harness>() {
    let two = |builder: InboxBuilder<NoStore>| {
        builder.register(handler::<H, 0>("first")).register(handler::<H, 1>("second"))
    };
    let bench = Bench::<H>::with(two).await;
    let mut envelopes = good(20);
    envelopes[6] = envelope([End::Ok, End::Error]);
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_true(&bench, &envelopes, &answers).await;
    let error = others_processed(answers, 6).transient(Kind::Handler, Attempt::Counted);
    assert_eq!(error.handler(), Some("second"));
    assert_eq!(bench.effects_of(&envelopes[6]).await, [] as [&str; 0]);
    assert_redelivered(&bench, &envelopes).await;
}

pub async fn ten_poisons_of_100_of_every_kind_are_isolated<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let kinds = [End::Error, End::Panic, End::SwallowFailedStatement, End::DeferredViolation];
    let mut envelopes = good(100);
    for (i, place) in (3..100).step_by(10).enumerate() {
        envelopes[place] = envelope([kinds[i % kinds.len()].clone()]);
    }
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_true(&bench, &envelopes, &answers).await;
    let failed = answers.iter().filter(|answer| answer.is_err()).count();
    let swallowed = if H::FEATURES.aborts_on_failed_statement { 0 } else { 2 };
    assert_eq!(failed, 10 - swallowed);
    assert_redelivered(&bench, &envelopes).await;
}

pub async fn a_batch_of_poisons_only_is_answered_one_by_one<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let envelopes: Vec<_> = (0..20).map(|_| envelope([End::Error])).collect();
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_true(&bench, &envelopes, &answers).await;
    for answer in answers {
        let _ = answer.transient(Kind::Handler, Attempt::Counted);
    }
    assert_redelivered(&bench, &envelopes).await;
}
