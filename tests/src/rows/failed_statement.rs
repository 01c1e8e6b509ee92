//! A handler swallows a failed statement.

use inbox::{DispatchErrorKind as Kind, InboxBuilder, NoStore, Outcome};

use crate::answer::{Attempt, Failed};
use crate::bench::{Bench, handler};
use crate::command::{End, envelope};
use crate::harness::Harness;

pub async fn a_handler_that_swallows_a_failed_statement_never_loses_its_message<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(End::SwallowFailedStatement).await;
    if H::FEATURES.aborts_on_failed_statement {
        let error = answer.transient(Kind::TransactionAborted, Attempt::Counted);
        assert_eq!(error.handler(), Some("obey"));
        bench.assert_rolled_back_and_reprocessed(&envelope).await;
    } else {
        assert_eq!(answer.unwrap(), Outcome::Processed);
        assert_eq!(bench.effects_of(&envelope).await, ["0", "after"]);
        bench.assert_committed_once(&envelope).await;
    }
}

pub async fn a_failed_statement_confined_to_a_savepoint_leaves_the_rest_to_be_committed<
    H: Harness,
>() {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(End::ConfineFailedStatement).await;
    assert_eq!(answer.unwrap(), Outcome::Processed);
    assert_eq!(bench.effects_of(&envelope).await, ["0", "after"]);
    bench.assert_committed_once(&envelope).await;
}

pub async fn an_innocent_later_handler_is_never_blamed_for_an_aborted_transaction<H: Harness>() {
    let two = |builder: InboxBuilder<NoStore>| {
        builder.register(handler::<H, 0>("guilty")).register(handler::<H, 1>("innocent"))
    };
    let bench = Bench::<H>::with(two).await;
    let envelope = envelope([End::SwallowFailedStatement, End::Ok]);
    let answer = bench.dispatch(&envelope).await;
    if H::FEATURES.aborts_on_failed_statement {
        let error = answer.transient(Kind::TransactionAborted, Attempt::Counted);
        assert_ne!(error.handler(), Some("innocent"), "{error:?}");
        bench.assert_rolled_back_and_reprocessed(&envelope).await;
    } else {
        assert_eq!(answer.unwrap(), Outcome::Processed);
        bench.assert_committed_once(&envelope).await;
    }
}
