//! A handler ends the transaction itself, whatever it then returns, panics or times out.

use inbox::{DispatchErrorKind as Kind, Escape as Told, Outcome};
use tracing::Level;

use crate::answer::Failed;
use crate::bench::Bench;
use crate::command::{End, Escape, Then};
use crate::harness::Harness;
use crate::logs::Logs;

pub async fn a_handler_that_commits_is_told_so_whatever_it_then_does<H: Harness>() {
    assert_told::<H>(Escape::Commit).await;
}

pub async fn a_handler_that_rolls_back_is_told_so_whatever_it_then_does<H: Harness>() {
    assert_told::<H>(Escape::Rollback).await;
}

pub async fn a_handler_that_commits_and_begins_is_told_so_whatever_it_then_does<H: Harness>() {
    assert_told::<H>(Escape::CommitBegin).await;
}

pub async fn a_handler_that_rolls_back_and_begins_is_told_so_whatever_it_then_does<H: Harness>() {
    assert_told::<H>(Escape::RollbackBegin).await;
}

pub async fn a_handler_that_commits_and_chains_is_told_so_whatever_it_then_does<H: Harness>() {
    if H::FEATURES.chains {
        assert_told::<H>(Escape::CommitAndChain).await;
    }
}

pub async fn a_handler_that_rolls_back_and_chains_is_told_so_whatever_it_then_does<H: Harness>() {
    if H::FEATURES.chains {
        assert_told::<H>(Escape::RollbackAndChain).await;
    }
}

async fn assert_told<H: Harness>(escape: Escape) {
    for then in Then::ALL {
        let bench = Bench::<H>::start().await;
        let logs = Logs::start();
        let (envelope, answer) = bench.run(End::Escape(escape, then)).await;
        let error = answer.permanent(Kind::TransactionEscaped);
        let goes_through = escape.goes_through::<H>();
        let told = if goes_through { Told::Committed } else { Told::RolledBack };
        assert_eq!(error.escape(), Some(told), "then {then:?}");
        assert_eq!(error.handler(), Some("obey"), "then {then:?}");
        let loud = logs.of_the_inbox(Level::ERROR);
        assert!(loud.len() == 1 && loud[0].contains("obey"), "{loud:?}");
        drop(logs);
        if goes_through {
            assert_left_as_committed(&bench, &envelope).await;
        } else {
            bench.assert_rolled_back_and_reprocessed(&envelope).await;
        }
    }
}

/// What the handler committed cannot be undone; what it wrote after that was rolled back.
async fn assert_left_as_committed<H: Harness>(bench: &Bench<H>, envelope: &inbox::Envelope) {
    assert_eq!(bench.effects_of(envelope).await, ["0"]);
    assert!(bench.has_row(envelope).await);
    assert_eq!(bench.dispatch(envelope).await.unwrap(), Outcome::SkippedDuplicate);
    bench.assert_committed_once(envelope).await;
}
