//! Escapes, aborts, cancellation and lost connections.

use std::error::Error;
use std::time::Duration;

use inbox::{DispatchErrorKind, Escape, Outcome};

use crate::bed::{Bed, CONSUMER, abort_after, message, until};

const WRITE: &str = "INSERT INTO effects VALUES ('a')";

#[tokio::test]
async fn a_handlers_commit_is_refused_by_the_database() {
    let bed = Bed::new().await;
    let inbox = bed.inbox().await;
    for script in ["COMMIT", "COMMIT AND CHAIN", "ROLLBACK", "ROLLBACK AND CHAIN"] {
        let envelope = message(&format!("{WRITE}; {script}"));
        let error = inbox.dispatch(&envelope).await.unwrap_err();
        assert_eq!(error.kind(), DispatchErrorKind::TransactionEscaped, "{script}: {error:?}");
        assert_eq!(error.escape(), Some(Escape::RolledBack), "{script}");
        assert!(error.is_permanent());
        assert_eq!((bed.effects().await, bed.rows().await), (0, 0), "{script}");
    }
    assert_eq!(inbox.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
}

#[tokio::test]
async fn a_commit_behind_the_triggers_back_is_still_told() {
    let bed = Bed::new().await;
    bed.run("ALTER TABLE inbox.messages DISABLE TRIGGER refuse_foreign_commit").await;
    // `build()` would refuse this schema, so it was broken after the start.
    bed.run("ALTER TABLE inbox.messages ENABLE TRIGGER refuse_foreign_commit").await;
    let inbox = bed.inbox().await;
    bed.run("ALTER TABLE inbox.messages DISABLE TRIGGER refuse_foreign_commit").await;
    for end in ["", "; fail"] {
        let envelope = message(&format!("{WRITE}; COMMIT{end}"));
        let error = inbox.dispatch(&envelope).await.unwrap_err();
        assert_eq!(error.kind(), DispatchErrorKind::TransactionEscaped, "{error:?}");
        assert_eq!(error.escape(), Some(Escape::Committed));
    }
}

#[tokio::test]
async fn set_constraints_all_immediate_is_told_with_the_remedy() {
    let bed = Bed::new().await;
    let error =
        bed.inbox().await.dispatch(&message("SET CONSTRAINTS ALL IMMEDIATE")).await.unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::Handler);
    assert!(format!("{error:#}").contains("may not end the inbox's transaction"), "{error:#}");
}

#[tokio::test]
async fn a_deferred_constraint_is_told_by_code_and_name_without_detail() {
    let bed = Bed::new().await;
    bed.run(
        "CREATE TABLE parents (id text PRIMARY KEY); \
         CREATE TABLE children (parent text REFERENCES parents DEFERRABLE INITIALLY DEFERRED)",
    )
    .await;
    let inbox = bed.inbox().await;
    let envelope = message("INSERT INTO children VALUES ('secret-word')");
    let error = inbox.dispatch(&envelope).await.unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::Store);
    assert!(error.is_transient() && error.counts_attempt());
    let told = format!("{error:#} {error:?}");
    assert!(told.contains("23503") && told.contains("children_parent_fkey"), "{told}");
    assert!(!told.contains("secret-word"), "{told}");
    assert_eq!(bed.rows().await, 0);
}

/// The whole chain, as an application's error reporter prints it.
#[tokio::test]
async fn what_a_deferred_trigger_says_of_its_row_is_not_shown() {
    let bed = Bed::new().await;
    bed.run(
        "CREATE TABLE cards (number text); \
         CREATE FUNCTION refuse_card() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             RAISE EXCEPTION 'bad card %', NEW.number USING ERRCODE = 'check_violation'; END $$; \
         CREATE CONSTRAINT TRIGGER refuse_card AFTER INSERT ON cards DEFERRABLE INITIALLY DEFERRED \
             FOR EACH ROW EXECUTE FUNCTION refuse_card()",
    )
    .await;
    let inbox = bed.inbox().await;
    let envelope = message("INSERT INTO cards VALUES ('secret-word')");
    let error = inbox.dispatch(&envelope).await.unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::Store);
    let links = std::iter::successors(Some(&error as &dyn Error), |&link| link.source());
    let told: String = links.map(|link| format!("{link} {link:?}")).collect();
    assert!(told.contains("23514") && !told.contains("secret-word"), "{told}");
}

#[tokio::test]
async fn a5_dispatches_aborted_at_every_await_poison_no_connection() {
    let bed = Bed::with(|pool| pool.max_connections(1), |session| session).await;
    let inbox = bed.inbox().await;
    let mut worker = inbox.consumer(CONSUMER).unwrap().worker();
    for polls in 1..40 {
        for through_worker in [false, true] {
            let envelope = message(WRITE);
            match through_worker {
                true => drop(abort_after(worker.dispatch(&envelope), polls, || ()).await),
                false => drop(abort_after(inbox.dispatch(&envelope), polls, || ()).await),
            }
            let answer = inbox.dispatch(&envelope).await.unwrap();
            assert!(matches!(answer, Outcome::Processed | Outcome::SkippedDuplicate));
        }
    }
    assert_eq!((bed.effects().await, bed.rows().await), (78, 78));
    until("no session in a transaction", || async { bed.idle_in_transaction().await == 0 }).await;
}

#[tokio::test]
async fn a_connection_killed_under_a_handler_is_transient_and_rolled_back() {
    let bed = Bed::new().await;
    let inbox = bed.inbox().await;
    let envelope = message(&format!("{WRITE}; wait; SELECT 1"));
    let dispatch = tokio::spawn({
        let (inbox, envelope) = (inbox.clone(), envelope.clone());
        async move { inbox.dispatch(&envelope).await }
    });
    bed.signals.started.notified().await;
    let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                WHERE datname = current_database() AND state = 'idle in transaction'";
    until("the handler's session", || async { bed.outside(kill).await == 1 }).await;
    bed.signals.go.notify_one();
    let error = dispatch.await.unwrap().unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    assert_eq!((bed.effects().await, bed.rows().await), (0, 0));
    bed.signals.go.notify_one();
    assert_eq!(inbox.dispatch(&envelope).await.unwrap(), Outcome::Processed);
}

#[tokio::test]
async fn a_full_pool_is_busy_and_counts_no_attempt() {
    let bed = Bed::with(
        |pool| pool.max_connections(1).acquire_timeout(Duration::from_millis(100)),
        |session| session,
    )
    .await;
    let inbox = bed.inbox().await;
    let held = bed.pool.acquire().await.unwrap();
    let error = inbox.dispatch(&message(WRITE)).await.unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::Store);
    assert!(error.is_transient() && !error.counts_attempt(), "{error:?}");
    drop(held);
}

#[tokio::test]
async fn a_leaked_savepoint_is_committed_whole_and_its_connection_closed() {
    use inbox::{Delivery, Handler, HandlerFuture, HandlerRegistration, Inbox};
    use inbox_postgres::PgTx;
    use sqlx::{Acquire as _, Executor as _};

    struct Leak;
    impl Handler for Leak {
        type Event = crate::bed::Script;
        fn call<'a>(_event: Self::Event, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
            Box::pin(async move {
                let mut tx: PgTx<'_> = delivery.extract()?;
                let mut inner = tx.begin().await?;
                inner.execute("INSERT INTO effects SELECT pg_backend_pid()").await?;
                std::mem::forget(inner);
                Ok(())
            })
        }
    }

    let bed = Bed::with(|pool| pool.max_connections(1), |session| session).await;
    let registration = HandlerRegistration::new::<Leak>(CONSUMER, "leak");
    let inbox = Inbox::builder().store(bed.store()).register(registration).build().await.unwrap();
    let pid = "SELECT pg_backend_pid()::bigint";
    let before = bed.number(pid).await;
    assert_eq!(inbox.dispatch(&message("")).await.unwrap(), Outcome::Processed);
    assert_eq!((bed.effects().await, bed.rows().await), (1, 1));
    assert_ne!(bed.number(pid).await, before);
    let mut worker = inbox.consumer(CONSUMER).unwrap().worker();
    for _ in 0..2 {
        assert_eq!(worker.dispatch(&message("")).await.unwrap(), Outcome::Processed);
    }
    assert_eq!((bed.effects().await, bed.rows().await), (3, 3));
    let sessions = bed.number("SELECT count(DISTINCT key) FROM effects").await;
    assert_eq!(sessions, 3, "a worker held a connection with a leaked savepoint");
}

#[tokio::test]
async fn a4_a_swallowed_error_never_yields_ok() {
    use inbox::{Delivery, Handler, HandlerFuture, HandlerRegistration, Inbox};
    use inbox_postgres::PgTx;
    use sqlx::{Acquire as _, Executor as _};

    struct Swallow;
    impl Handler for Swallow {
        type Event = crate::bed::Script;
        fn call<'a>(_event: Self::Event, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
            Box::pin(async move {
                let mut tx: PgTx<'_> = delivery.extract()?;
                tx.execute(WRITE).await?;
                let _ = tx.execute("SELECT 1/0").await;
                Ok(())
            })
        }
    }
    struct Confine;
    impl Handler for Confine {
        type Event = crate::bed::Script;
        fn call<'a>(_event: Self::Event, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
            Box::pin(async move {
                let mut tx: PgTx<'_> = delivery.extract()?;
                tx.execute(WRITE).await?;
                let mut confined = tx.begin().await?;
                let _ = confined.execute("SELECT 1/0").await;
                Ok(confined.rollback().await?)
            })
        }
    }

    let bed = Bed::new().await;
    let on = |registration| Inbox::builder().store(bed.store()).register(registration).build();
    let swallowing = on(HandlerRegistration::new::<Swallow>(CONSUMER, "swallow")).await.unwrap();
    let envelope = message("");
    for _ in 0..3 {
        let error = swallowing.dispatch(&envelope).await.unwrap_err();
        assert_eq!(error.kind(), DispatchErrorKind::TransactionAborted);
        assert_eq!(error.handler(), Some("swallow"));
        assert_eq!((bed.effects().await, bed.rows().await), (0, 0));
    }
    let confining = on(HandlerRegistration::new::<Confine>(CONSUMER, "confine")).await.unwrap();
    assert_eq!(confining.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    assert_eq!((bed.effects().await, bed.rows().await), (1, 1));
}

#[tokio::test]
async fn a8_everything_is_there_after_a_hundred_concurrent_dispatches() {
    let bed = Bed::with(|pool| pool.max_connections(8), |session| session).await;
    let inbox = bed.inbox().await;
    let script = [WRITE; 5].join("; ");
    let dispatches: Vec<_> = (0..100)
        .map(|_| {
            let (inbox, envelope) = (inbox.clone(), message(&script));
            tokio::spawn(async move { inbox.dispatch(&envelope).await })
        })
        .collect();
    for dispatch in dispatches {
        assert_eq!(dispatch.await.unwrap().unwrap(), Outcome::Processed);
    }
    assert_eq!((bed.effects().await, bed.rows().await), (500, 100));
}

/// What a standby answers, and a primary that has become one.
#[tokio::test]
async fn a_server_that_takes_no_writes_is_transient_and_told_by_check() {
    use inbox::InboxStore as _;

    let bed = Bed::new().await;
    let inbox = bed.inbox().await;
    let name = bed.database.name();
    bed.run(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
    let sessions = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                    WHERE datname = current_database() AND pid <> pg_backend_pid()";
    bed.outside(sessions).await;
    let error = inbox.dispatch(&message(WRITE)).await.unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::Store);
    assert!(error.is_transient(), "{error:?}");
    assert!(error.to_string().contains("25006"), "{error}");
    let told = bed.store().check().await.unwrap().join("\n");
    assert!(told.contains("default_transaction_read_only"), "{told}");
}
