use std::time::Duration;

use inbox::Escape::{self, Committed, RolledBack};
use inbox::{CommitError, Slot, UnitOfWork};

use sqlx::{Connection, SqliteConnection};

use crate::fixture::*;

/// What a handler does to the transaction, how that ends on a pool of the application's, and how
/// many effects are then durable; the dedup row is, where the handler's COMMIT went through.
const ESCAPES: [(&str, Escape, i64); 8] = [
    ("COMMIT", Committed, 1),
    ("ROLLBACK", RolledBack, 0),
    ("COMMIT; BEGIN", Committed, 1),
    ("ROLLBACK; BEGIN", RolledBack, 0),
    ("COMMIT; BEGIN; INSERT INTO effects VALUES ('after')", Committed, 1),
    ("ROLLBACK; BEGIN; INSERT INTO effects VALUES ('after')", RolledBack, 0),
    ("ROLLBACK; INSERT INTO effects VALUES ('after')", RolledBack, 1),
    ("INSERT OR ROLLBACK INTO keys VALUES (1), (1)", RolledBack, 0),
];

const KEYS: &str = "CREATE TABLE keys (key INTEGER PRIMARY KEY) STRICT";

async fn escape(fixture: &Fixture, sql: &'static str) -> inbox_sqlite::SqliteUnit {
    sqlx::raw_sql(KEYS).execute(fixture.store.pool()).await.unwrap();
    let mut unit = fresh(&fixture.store, message(1)).await;
    run(&mut unit, EFFECT).await.unwrap();
    let _ = run(&mut unit, sql).await;
    unit
}

/// A connection that does not wait for locks.
async fn impatient(fixture: &Fixture) -> SqliteConnection {
    let options = options(&fixture.directory).busy_timeout(Duration::ZERO);
    SqliteConnection::connect_with(&options).await.unwrap()
}

/// When the answer is there, the lock is free.
async fn assert_nothing_is_open(mut impatient: SqliteConnection, sql: &str) {
    let lock = sqlx::raw_sql("BEGIN IMMEDIATE; ROLLBACK").execute(&mut impatient).await;
    lock.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// The next message finds a clean connection.
async fn assert_usable(fixture: &Fixture, sql: &str) {
    let mut unit = fresh(&fixture.store, message(2)).await;
    run(&mut unit, "DELETE FROM effects").await.unwrap();
    unit.commit(&mut Slot::passing()).await.unwrap();
    assert_eq!(fixture.effects().await, 0, "{sql}");
}

#[tokio::test]
async fn a_handler_that_ends_the_transaction_and_returns_ok_is_found_out() {
    for (sql, how, effects) in ESCAPES {
        let fixture = Fixture::application().await;
        let other = impatient(&fixture).await;
        match escape(&fixture, sql).await.commit(&mut Slot::passing()).await {
            Err(CommitError::Escaped(escape)) => assert_eq!(escape, how, "{sql}"),
            other => panic!("{sql}: {other:?}"),
        }
        assert_nothing_is_open(other, sql).await;
        assert_eq!(fixture.rows().await, i64::from(how == Committed), "{sql}");
        assert_eq!(fixture.effects().await, effects, "{sql}");
        assert_usable(&fixture, sql).await;
    }
}

#[tokio::test]
async fn a_handler_that_ends_the_transaction_and_returns_err_is_found_out() {
    for (sql, how, effects) in ESCAPES {
        let fixture = Fixture::application().await;
        let other = impatient(&fixture).await;
        assert_eq!(
            escape(&fixture, sql).await.rollback(&mut Slot::passing()).await,
            Err(how),
            "{sql}"
        );
        assert_nothing_is_open(other, sql).await;
        assert_eq!(fixture.rows().await, i64::from(how == Committed), "{sql}");
        assert_eq!(fixture.effects().await, effects, "{sql}");
        assert_usable(&fixture, sql).await;
    }
}

/// On the store's own connections nothing but its own commit is let through, so nothing is durable.
#[tokio::test]
async fn a_handlers_commit_is_refused_where_the_store_opened_the_database() {
    for (sql, ..) in ESCAPES {
        let commits = sql.starts_with("COMMIT") || sql.starts_with("ROLLBACK; INSERT");
        let how = if commits { RolledBack } else { RolledBack };
        for returns_ok in [true, false] {
            let fixture = Fixture::own().await;
            let other = impatient(&fixture).await;
            let unit = escape(&fixture, sql).await;
            let found = match returns_ok {
                true => match unit.commit(&mut Slot::passing()).await {
                    Err(CommitError::Escaped(escape)) => Err(escape),
                    other => panic!("{sql}: {other:?}"),
                },
                false => unit.rollback(&mut Slot::passing()).await,
            };
            assert_eq!(found, Err(how), "{sql}");
            assert_nothing_is_open(other, sql).await;
            assert_eq!((fixture.rows().await, fixture.effects().await), (0, 0), "{sql}");
            assert_usable(&fixture, sql).await;
        }
    }
}

#[tokio::test]
async fn an_application_may_have_commits_refused_on_its_own_pool() {
    let fixture = Fixture::application().await;
    let store = fixture.store.clone().guard_commits();
    let mut unit = fresh(&store, message(1)).await;
    let refused = run(&mut unit, "COMMIT").await.unwrap_err().into_database_error().unwrap();
    assert_eq!(refused.code().as_deref(), Some("531"));
    assert_eq!(unit.rollback(&mut Slot::passing()).await, Err(RolledBack));

    // The same connection commits the application's own work when it is no unit of work's.
    fresh(&store, message(1)).await.commit(&mut Slot::passing()).await.unwrap();
    sqlx::raw_sql(EFFECT).execute(fixture.store.pool()).await.unwrap();
    fresh(&store, message(2)).await.rollback(&mut Slot::passing()).await.unwrap();
    sqlx::raw_sql(EFFECT).execute(fixture.store.pool()).await.unwrap();
    duplicate(&store, message(1)).await;
    sqlx::raw_sql(EFFECT).execute(fixture.store.pool()).await.unwrap();
    assert_eq!((fixture.rows().await, fixture.effects().await), (1, 3));
}
