//! K2: several handlers of one event in one consumer.

use inbox::{DispatchErrorKind as Kind, Escape as Told, InboxBuilder, NoStore, Outcome};

use crate::answer::{Attempt, Failed};
use crate::bench::{Bench, CONSUMER, handler};
use crate::command::{Command, End, Escape, Then, UNREADABLE_AT, envelope};
use crate::harness::Harness;

/// Three handlers, whose declared order is neither the order of their names nor of registration.
fn three<H: Harness>(builder: InboxBuilder<NoStore>) -> InboxBuilder<NoStore> {
    builder
        .register(handler::<H, 0>("a").with_order(9))
        .register(handler::<H, 2>("c"))
        .register(handler::<H, 1>("b"))
}

pub async fn k2_handlers_run_in_declared_order_then_by_name_in_one_dedup_decision<H: Harness>() {
    let bench = Bench::<H>::with(three::<H>).await;
    let envelope = envelope([]);
    assert_eq!(bench.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    assert_eq!(bench.probe.order(), [1, 2, 0]);
    assert_eq!(bench.effects_of(&envelope).await, ["0", "1", "2"]);
    assert_eq!(bench.plan.calls(), ["claim", "probe", "probe", "commit"]);
    assert_eq!(bench.harness.dedup_rows(CONSUMER).await.len(), 1);
    bench.assert_committed_once(&envelope).await;
}

pub async fn k2_the_first_failure_stops_the_rest_and_undoes_what_ran_before<H: Harness>() {
    for (end, kind) in [
        (End::Error, Kind::Handler),
        (End::Panic, Kind::HandlerPanicked),
        (End::Hang, Kind::HandlerTimedOut),
    ] {
        let bench = Bench::<H>::with(three::<H>).await;
        let envelope = envelope([End::Ok, End::Ok, end]);
        let error = bench.dispatch(&envelope).await.transient(kind, Attempt::Counted);
        assert_eq!(error.handler(), Some("c"));
        assert_eq!(bench.probe.order(), [1, 2], "the third was started");
        bench.assert_rolled_back_and_reprocessed(&envelope).await;
        assert_eq!(bench.effects_of(&envelope).await, ["0", "1", "2"]);
    }
}

pub async fn a_second_handler_that_cannot_decode_means_that_the_first_has_not_run<H: Harness>() {
    let bench = Bench::<H>::with(three::<H>).await;
    let envelope = envelope([]).with_header(UNREADABLE_AT, "2");
    let error = bench.dispatch(&envelope).await.permanent(Kind::Decode);
    assert_eq!((error.handler(), Command::decoded()), (Some("c"), 2));
    assert_eq!((bench.probe.starts(), bench.plan.calls()), (0, vec!["find"]));
}

/// The name of the first of [`two`].
const FIRST: &str = "first";
/// The name of the second.
const SECOND: &str = "second";

fn two<H: Harness>(builder: InboxBuilder<NoStore>) -> InboxBuilder<NoStore> {
    builder.register(handler::<H, 0>(FIRST)).register(handler::<H, 1>(SECOND))
}

/// All that a later handler may do to hide what an earlier one has left it.
fn whatever() -> [End; 5] {
    [End::Ok, End::Error, End::Permanent, End::Panic, End::Hang]
}

pub async fn a_later_handler_is_not_started_where_an_earlier_one_ended_the_transaction<
    H: Harness,
>() {
    for escape in Escape::ALL.into_iter().filter(|escape| escape.is_sql_of::<H>()) {
        let whatever = whatever().into_iter();
        for later in whatever.take(if escape == Escape::Rollback { usize::MAX } else { 1 }) {
            let bench = Bench::<H>::with(two::<H>).await;
            let message = envelope([End::Escape(escape, Then::Ok), later.clone()]);
            let error = bench.dispatch(&message).await.permanent(Kind::TransactionEscaped);
            assert_eq!(error.handler(), Some(FIRST), "{escape:?}, then {later:?}");
            assert_eq!(bench.probe.order(), [0], "{escape:?}, then {later:?}");
            if escape.goes_through::<H>() {
                assert_eq!(error.escape(), Some(Told::Committed));
                assert_eq!(bench.effects_of(&message).await, ["0"]);
                bench.assert_committed_once(&message).await;
            } else {
                assert_eq!(error.escape(), Some(Told::RolledBack));
                bench.assert_rolled_back_and_reprocessed(&message).await;
            }
        }
    }
}

pub async fn a_later_handler_is_not_started_where_an_earlier_one_gave_up_a_begin<H: Harness>() {
    for end in [End::GiveUpBegin, End::GiveUpBeginAndWrite] {
        let bench = Bench::<H>::with(two::<H>).await;
        let message = envelope([end.clone(), End::Ok]);
        let error = bench.dispatch(&message).await.expect_err("the transaction is gone");
        assert_eq!((error.handler(), bench.probe.order()), (Some(FIRST), vec![0]), "{end:?}");
        // Permanent only where something may be durable; or refused, as a COMMIT of the handler's is.
        match error.escape() {
            None => assert!(error.is_transient() && error.kind() == Kind::TransactionAborted),
            Some(escape) => assert!(matches!(escape, Told::BeginGivenUp | Told::RolledBack)),
        }
        assert!(!bench.effects_of(&message).await.contains(&"0".to_owned()), "{end:?}");
        assert!(!bench.has_row(&message).await);
        bench.assert_usable().await;
    }
}

pub async fn a_later_handler_is_not_started_in_an_aborted_transaction_nor_blamed_for_it<
    H: Harness,
>() {
    if !H::FEATURES.aborts_on_failed_statement {
        return;
    }
    for later in whatever() {
        let bench = Bench::<H>::with(two::<H>).await;
        let message = envelope([End::SwallowFailedStatement, later.clone()]);
        let answer = bench.dispatch(&message).await;
        let error = answer.transient(Kind::TransactionAborted, Attempt::Counted);
        assert_eq!((error.handler(), bench.probe.order()), (Some(FIRST), vec![0]), "{later:?}");
        bench.assert_rolled_back_and_reprocessed(&message).await;
    }
}

pub async fn a_last_handler_that_ends_or_aborts_the_transaction_is_named<H: Harness>() {
    let ends = [End::Escape(Escape::RollbackBegin, Then::Ok), End::SwallowFailedStatement];
    for end in ends {
        let bench = Bench::<H>::with(two::<H>).await;
        let message = envelope([End::Ok, end.clone()]);
        match bench.dispatch(&message).await {
            Err(error) => {
                assert_eq!(error.handler(), Some(SECOND), "{error:?}");
                bench.assert_rolled_back_and_reprocessed(&message).await;
            }
            Ok(outcome) => {
                assert_eq!(outcome, Outcome::Processed);
                assert!(!H::FEATURES.aborts_on_failed_statement, "{end:?}");
                bench.assert_committed_once(&message).await;
            }
        }
    }
}

pub async fn the_transaction_is_probed_between_handlers_and_not_after_the_last<H: Harness>() {
    let bench = Bench::<H>::with(two::<H>).await;
    assert_eq!(bench.dispatch(&envelope([])).await.unwrap(), Outcome::Processed);
    assert_eq!(bench.plan.calls(), ["claim", "probe", "commit"]);
    let bench = Bench::<H>::start().await;
    assert_eq!(bench.run(End::Ok).await.1.unwrap(), Outcome::Processed);
    assert_eq!(bench.plan.calls(), ["claim", "commit"]);
}
