//! Statements and savepoints that a handler gives up before the server has answered.

use inbox::{
    Delivery, DispatchErrorKind, Escape, Handler, HandlerError, HandlerFuture, HandlerRegistration,
    Inbox, Outcome,
};
use inbox_postgres::{PgInboxStore, PgTx};
use sqlx::{Acquire as _, Executor as _};
use std::time::Duration;

use crate::bed::{Bed, CONSUMER, Run, Script, abort_after, message};

const WRITE: &str = "INSERT INTO effects VALUES ('a')";
/// Fails some time after it was sent.
const FAILS_LATE: &str = "SELECT pg_sleep(0.3), 1 / (random() * 0)::int";
/// The same, with the code by which the store's own guard fails.
const FAILS_LATE_AS_THE_GUARD_DOES: &str = "SELECT (pg_sleep(0.3)::text || 'x')::int";

/// What a handler does with its transaction; its message's payload chooses.
struct Act;

impl Handler for Act {
    type Event = Script;

    fn call<'a>(event: Script, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async move {
            let mut tx: PgTx<'_> = delivery.extract()?;
            act(event.text(), &mut tx).await
        })
    }
}

async fn act(what: &str, tx: &mut PgTx<'_>) -> Result<(), HandlerError> {
    match what {
        "write" => {
            tx.execute(WRITE).await?;
        }
        // An optional step, confined to a savepoint and given up: legal, and well ended.
        "give up in a savepoint" => {
            tx.execute(WRITE).await?;
            let mut savepoint = tx.begin().await?;
            abort_after(savepoint.execute(FAILS_LATE), 1, || ()).await;
        }
        "fail late as the guard does" => {
            tx.execute(FAILS_LATE_AS_THE_GUARD_DOES).await?;
        }
        "swallow, then begin" => {
            let _ = tx.execute("SELECT 1/0").await;
            tx.begin().await?.commit().await?;
        }
        "hang in begin" => {
            give_up_a_begin(tx).await;
            std::future::pending::<()>().await;
        }
        // Optional steps, each in a savepoint and under a timeout: two of them came too late.
        "give up a begin, commit a savepoint, drop a savepoint" => {
            give_up_a_begin(tx).await;
            let mut step = tx.begin().await?;
            step.execute(WRITE).await?;
            step.commit().await?;
            drop(tx.begin().await?);
        }
        "give up a begin, then write" => {
            give_up_a_begin(tx).await;
            tx.execute(WRITE).await?;
        }
        "give up a begin, write, then fail" => {
            give_up_a_begin(tx).await;
            tx.execute(WRITE).await?;
            return Err("and fails".into());
        }
        "give up a begin, write, then hang" => {
            give_up_a_begin(tx).await;
            tx.execute(WRITE).await?;
            std::future::pending::<()>().await;
        }
        "give up a statement that fails late" => {
            tx.execute(WRITE).await?;
            abort_after(tx.execute(FAILS_LATE), 1, || ()).await;
        }
        other => panic!("{other}"),
    }
    Ok(())
}

/// A fast server may have answered before it is asked: then there was a savepoint, which is dropped, and
/// another is tried.
async fn give_up_a_begin(tx: &mut PgTx<'_>) {
    while abort_after(tx.begin(), 1, || ()).await.is_some() {}
}

async fn inbox(bed: &Bed) -> Inbox<PgInboxStore> {
    let act = HandlerRegistration::new::<Act>(CONSUMER, "act");
    let act = act.with_timeout(Duration::from_millis(200));
    Inbox::builder().store(bed.store()).register(act).build().await.unwrap()
}

#[tokio::test]
async fn a_statement_given_up_in_a_savepoint_loses_and_doubles_nothing() {
    let bed = Bed::new().await;
    let act = HandlerRegistration::new::<Act>(CONSUMER, "act");
    let inbox = Inbox::builder().store(bed.store()).register(act).build().await.unwrap();
    let mut worker = inbox.consumer(CONSUMER).unwrap().worker();
    for n in 1..=3 {
        let envelope = message("give up in a savepoint");
        assert_eq!(worker.dispatch(&envelope).await.unwrap(), Outcome::Processed);
        assert_eq!(bed.outside("SELECT count(*) FROM inbox.messages").await, 3 * n - 2);
        assert_eq!(worker.dispatch(&envelope).await.unwrap(), Outcome::SkippedDuplicate);
        assert_eq!(worker.dispatch(&message("write")).await.unwrap(), Outcome::Processed);
        let single = inbox.dispatch(&message("give up in a savepoint")).await.unwrap();
        assert_eq!(single, Outcome::Processed);
        assert_eq!(bed.outside("SELECT count(*) FROM effects").await, 3 * n);
        assert_eq!(bed.outside("SELECT count(*) FROM inbox.messages").await, 3 * n);
    }
}

#[tokio::test]
async fn a_late_error_of_a_timed_out_handler_is_no_escape() {
    let bed = Bed::new().await;
    let inbox = inbox(&bed).await;
    let error = inbox.dispatch(&message("fail late as the guard does")).await.unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::HandlerTimedOut, "{error:?}");
    assert!(error.is_transient());
}

#[tokio::test]
async fn a_begin_that_failed_or_was_given_up_is_no_escape() {
    let bed = Bed::new().await;
    let inbox = inbox(&bed).await;
    let error = inbox.dispatch(&message("swallow, then begin")).await.unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::Handler, "{error:?}");
    assert!(error.is_transient());
    let error = inbox.dispatch(&message("hang in begin")).await.unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::HandlerTimedOut, "{error:?}");
    assert!(error.is_transient());
    assert_eq!((bed.effects().await, bed.rows().await), (0, 0));
    assert_eq!(inbox.dispatch(&message("write")).await.unwrap(), Outcome::Processed);
}

/// sqlx rolls the transaction back for the given-up `begin()`, and what the handler writes afterwards
/// is durable by itself: retrying would write it again, so the answer is permanent.
#[tokio::test]
async fn writes_after_a_begin_that_was_given_up_are_told_as_an_escape() {
    for what in [
        "give up a begin, then write",
        "give up a begin, write, then fail",
        "give up a begin, write, then hang",
        "give up a begin, commit a savepoint, drop a savepoint",
    ] {
        let bed = Bed::new().await;
        let error = inbox(&bed).await.dispatch(&message(what)).await.unwrap_err();
        assert_eq!(error.kind(), DispatchErrorKind::TransactionEscaped, "{what}: {error:?}");
        assert_eq!(error.escape(), Some(Escape::BeginGivenUp), "{what}");
        assert!(error.is_permanent() && error.to_string().contains("begin()"), "{error}");
        assert_eq!((bed.effects().await, bed.rows().await), (1, 0), "{what}");
    }
}

#[tokio::test]
async fn a_statement_given_up_by_an_earlier_handler_is_not_a_later_ones_failure() {
    let bed = Bed::new().await;
    let earlier = HandlerRegistration::new::<Act>(CONSUMER, "earlier");
    let later = HandlerRegistration::new::<Run>(CONSUMER, "later");
    let builder = Inbox::builder().store(bed.store()).state(bed.signals.clone());
    let inbox = builder.register(earlier).register(later).build().await.unwrap();
    let envelope = message("give up a statement that fails late");
    let error = inbox.dispatch(&envelope).await.unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::TransactionAborted, "{error:?}");
    assert_eq!((error.handler(), bed.signals.starts()), (Some("earlier"), 0));
    assert_eq!((bed.effects().await, bed.rows().await), (0, 0));
}
