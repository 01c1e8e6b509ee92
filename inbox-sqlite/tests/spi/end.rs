use futures_util::TryStreamExt;
use inbox::{CommitError, Escape, Fault, InboxStore, Standing, UnitOfWork};
use inbox_sqlite::{SqliteInboxStore, SqliteUnit};
use sqlx::sqlite::{SqliteJournalMode, SqlitePool, SqlitePoolOptions};
use sqlx::{Connection, SqliteConnection};

use crate::fixture::*;

#[tokio::test]
async fn a_failed_statement_leaves_the_rest_to_commit() {
    let fixture = Fixture::own().await;
    let mut unit = fresh(&fixture.store, message(1)).await;
    run(&mut unit, EFFECT).await.unwrap();
    run(&mut unit, "INSERT INTO effects VALUES (NULL)").await.unwrap_err();
    commit(unit).await.unwrap();
    assert_eq!((fixture.rows().await, fixture.effects().await), (1, 1));
}

#[tokio::test]
async fn a_handlers_begin_is_a_savepoint() {
    let fixture = Fixture::own().await;
    let mut unit = fresh(&fixture.store, message(1)).await;
    let mut savepoint = unit.connection().begin().await.unwrap();
    sqlx::raw_sql(EFFECT).execute(&mut *savepoint).await.unwrap();
    savepoint.rollback().await.unwrap();
    let mut savepoint = unit.connection().begin().await.unwrap();
    sqlx::raw_sql(EFFECT).execute(&mut *savepoint).await.unwrap();
    savepoint.commit().await.unwrap();
    commit(unit).await.unwrap();
    assert_eq!((fixture.rows().await, fixture.effects().await), (1, 1));
}

async fn leak_a_savepoint(fixture: &Fixture) -> SqliteUnit {
    let mut unit = fresh(&fixture.store, message(1)).await;
    let mut savepoint = unit.connection().begin().await.unwrap();
    sqlx::raw_sql(EFFECT).execute(&mut *savepoint).await.unwrap();
    std::mem::forget(savepoint);
    unit
}

#[tokio::test]
async fn a_leaked_savepoint_is_committed_as_a_whole() {
    let fixture = Fixture::application().await;
    commit(leak_a_savepoint(&fixture).await).await.unwrap();
    assert_eq!((fixture.rows().await, fixture.effects().await), (1, 1));
    let connection = fixture.store.pool().acquire().await.unwrap();
    assert!(!connection.is_in_transaction(), "the connection with the leak was given back");
    drop(connection);
    commit(fresh(&fixture.store, message(2)).await).await.unwrap();
    assert_eq!(fixture.rows().await, 2);
}

#[tokio::test]
async fn a_leaked_savepoint_is_rolled_back_as_a_whole() {
    let fixture = Fixture::application().await;
    rollback(leak_a_savepoint(&fixture).await).await.unwrap();
    assert_eq!((fixture.rows().await, fixture.effects().await), (0, 0));
    assert!(!fixture.store.pool().acquire().await.unwrap().is_in_transaction());
}

#[tokio::test]
async fn a_deferred_constraint_that_fails_at_commit_is_told_with_its_code() {
    let fixture = Fixture::application().await;
    sqlx::raw_sql(
        "CREATE TABLE parents (id INTEGER PRIMARY KEY) STRICT;
         CREATE TABLE children (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED) STRICT",
    )
    .execute(fixture.store.pool())
    .await
    .unwrap();
    let mut unit = fresh(&fixture.store, message(1)).await;
    run(&mut unit, "INSERT INTO children VALUES (7)").await.unwrap();
    match commit(unit).await.unwrap_err() {
        CommitError::Refused(error) => assert_eq!(error.code(), Some("787"), "{error}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(fixture.rows().await, 0);
    commit(fresh(&fixture.store, message(1)).await).await.unwrap();
}

#[tokio::test]
async fn a_commit_that_readers_keep_waiting_is_busy_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(&directory)
        .journal_mode(SqliteJournalMode::Truncate)
        .busy_timeout(std::time::Duration::from_millis(20));
    let pool = SqlitePoolOptions::new().connect_with(options).await.unwrap();
    let store = SqliteInboxStore::new(pool.clone());
    store.migrate().await.unwrap();
    let mut reader = pool.acquire().await.unwrap();
    sqlx::raw_sql("BEGIN; SELECT * FROM inbox_messages").execute(&mut *reader).await.unwrap();

    match commit(fresh(&store, message(1)).await).await.unwrap_err() {
        CommitError::Refused(error) => assert_eq!(error.fault(), Fault::Busy, "{error}"),
        other => panic!("{other:?}"),
    }
    sqlx::raw_sql("COMMIT").execute(&mut *reader).await.unwrap();
    commit(fresh(&store, message(1)).await).await.unwrap();
    assert!(store.find(CONSUMER, message(1)).await.unwrap().is_some());
}

#[tokio::test]
async fn a_commit_hook_of_the_application_that_refuses_is_no_unknown_commit() {
    let directory = tempfile::tempdir().unwrap();
    let plain = SqliteInboxStore::new(SqlitePool::connect_with(options(&directory)).await.unwrap());
    plain.migrate().await.unwrap();
    let hooked = SqlitePoolOptions::new().after_connect(|connection, _| {
        Box::pin(async move {
            connection.lock_handle().await?.set_commit_hook(|| false);
            Ok(())
        })
    });
    let store = SqliteInboxStore::new(hooked.connect_with(options(&directory)).await.unwrap());
    match commit(fresh(&store, message(1)).await).await.unwrap_err() {
        CommitError::Refused(error) => assert_eq!(error.code(), Some("531"), "{error}"),
        other => panic!("{other:?}"),
    }
    assert!(plain.find(CONSUMER, message(1)).await.unwrap().is_none());
}

/// Drops a statement that never ends while it is running: the row before it has arrived.
async fn give_up_on(unit: &mut SqliteUnit, endless: &'static str) {
    let mut rows = sqlx::raw_sql(endless).fetch(unit.connection());
    assert!(rows.try_next().await.unwrap().is_some());
}

const ENDLESS_WRITE: &str = "\
    SELECT 1; \
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) \
    INSERT INTO effects SELECT 'never' FROM numbers WHERE n < 0";

const ENDLESS_READ: &str = "\
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) \
    SELECT n FROM numbers WHERE n < 2";

/// When the statement was writing, SQLite rolls the transaction back by itself.
#[tokio::test]
async fn a_statement_that_outlives_its_handler_is_stopped_and_nobody_is_blamed() {
    let fixture = Fixture::own().await;
    for endless in [ENDLESS_READ, ENDLESS_WRITE] {
        let mut unit = fresh(&fixture.store, message(1)).await;
        give_up_on(&mut unit, endless).await;
        rollback(unit).await.unwrap();
        assert_eq!((fixture.rows().await, fixture.effects().await), (0, 0));
    }
}

#[tokio::test]
async fn a_statement_that_outlives_its_handler_is_stopped_where_a_part_is_undone() {
    let fixture = Fixture::own().await;
    for (number, endless) in [(1, ENDLESS_READ), (2, ENDLESS_WRITE)] {
        let mut unit = open_batch(&fixture.store).await;
        assert!(claim_in(&mut unit, message(number)).await);
        assert!(matches!(unit.mark().await, Ok(Standing::Ours)));
        assert!(claim_in(&mut unit, message(3)).await);
        give_up_on(&mut unit, endless).await;
        match unit.undo().await {
            Ok(()) => commit(unit).await.unwrap(),
            Err(_) => rollback(unit).await.unwrap(), // SQLite ends a transaction of which it stops a write
        }
        assert!(fixture.rows().await >= 1);
    }
    assert_eq!(fixture.effects().await, 0);
}

#[tokio::test]
async fn a_statement_that_outlives_its_unit_is_stopped() {
    let fixture = Fixture::own().await;
    for (number, endless) in [(1, ENDLESS_READ), (2, ENDLESS_WRITE)] {
        let mut unit = fresh(&fixture.store, message(number)).await;
        give_up_on(&mut unit, endless).await;
        drop(unit);
        commit(fresh(&fixture.store, message(number)).await).await.unwrap();
    }
    assert_eq!((fixture.rows().await, fixture.effects().await), (2, 0));
}

#[tokio::test]
async fn a_statement_stopped_in_a_savepoint_is_no_escape() {
    let fixture = Fixture::own().await;
    let mut unit = fresh(&fixture.store, message(1)).await;
    let mut savepoint = unit.connection().begin().await.unwrap();
    let mut rows = sqlx::raw_sql(ENDLESS_WRITE).fetch(&mut *savepoint);
    assert!(rows.try_next().await.unwrap().is_some());
    drop(rows);
    drop(savepoint);
    rollback(unit).await.unwrap();
    assert_eq!((fixture.rows().await, fixture.effects().await), (0, 0));
}

/// What the handler had sent after it finds no transaction any more.
#[tokio::test]
async fn a_statement_queued_behind_a_stopped_one_is_refused_and_no_escape() {
    let fixture = Fixture::own().await;
    for queued in [EFFECT, "SELECT 1"] {
        let mut unit = fresh(&fixture.store, message(1)).await;
        give_up_on(&mut unit, ENDLESS_WRITE).await;
        assert!(drop_at(1, run(&mut unit, queued)).await.is_none());
        rollback(unit).await.unwrap();
        assert_eq!((fixture.rows().await, fixture.effects().await), (0, 0));
    }
}

async fn run_out_of_disk(connection: &mut SqliteConnection) {
    let error = sqlx::raw_sql(FILL_THE_DISK).execute(connection).await.unwrap_err();
    assert_eq!(error.into_database_error().unwrap().code().as_deref(), Some("13"));
}

/// With it SQLite rolls back by itself: a message must not be dead-lettered for it.
#[tokio::test]
async fn a_full_disk_is_no_escape() {
    for (in_a_savepoint, swallowed) in [(false, false), (false, true), (true, false), (true, true)]
    {
        let fixture = Fixture::own().await;
        let mut unit = fresh(&fixture.store, message(1)).await;
        if in_a_savepoint {
            let mut savepoint = unit.connection().begin().await.unwrap();
            run_out_of_disk(&mut savepoint).await;
        } else {
            run_out_of_disk(unit.connection()).await;
        }
        if swallowed {
            let answer = commit(unit).await;
            assert!(matches!(answer, Err(CommitError::Aborted)), "{answer:?}");
        } else {
            rollback(unit).await.unwrap();
        }
        assert_eq!((fixture.rows().await, fixture.effects().await), (0, 0));
    }
}

/// Without a statement journal SQLite cannot take back the one statement, and takes back all.
const FILL_THE_DISK: &str = "\
    PRAGMA max_page_count = 1; \
    INSERT INTO effects VALUES (hex(zeroblob(100000)))";

/// Cancels a `begin()` in flight: it queues behind a statement that nobody waits for.
async fn cancel_a_begin(unit: &mut SqliteUnit) {
    const SLOW: &str = "\
        WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 300000) \
        SELECT count(*) FROM numbers";
    assert!(drop_at(1, run(unit, SLOW)).await.is_none());
    assert!(drop_at(1, unit.connection().begin()).await.is_none());
}

/// Of such a `begin()` sqlx rolls back the savepoint, and then what is around it.
#[tokio::test]
async fn a_cancelled_begin_takes_the_transaction_along_and_is_found_out() {
    let fixture = Fixture::application().await;
    let mut unit = fresh(&fixture.store, message(1)).await;
    cancel_a_begin(&mut unit).await;
    rollback(unit).await.unwrap(); // the handler timed out: not its doing

    let mut unit = fresh(&fixture.store, message(1)).await;
    cancel_a_begin(&mut unit).await;
    run(&mut unit, EFFECT).await.unwrap(); // past the end of the transaction
    let answer = commit(unit).await;
    assert!(matches!(answer, Err(CommitError::Escaped(Escape::BeginGivenUp))), "{answer:?}");
    assert_eq!((fixture.rows().await, fixture.effects().await), (0, 1));
}

#[tokio::test]
async fn a_handlers_own_failures_are_recognised_by_their_codes() {
    let fixture = Fixture::own().await;
    let mut unit = fresh(&fixture.store, message(1)).await;
    let error = run(&mut unit, "INSERT INTO effects VALUES (NULL)").await.unwrap_err();
    assert_eq!(fixture.store.fault_in(&error), Some(Fault::Other));
    rollback(unit).await.unwrap();
    assert_eq!(fixture.store.fault_in(&sqlx::Error::RowNotFound), None);
    assert_eq!(fixture.store.fault_in(&std::fmt::Error), None);
}
