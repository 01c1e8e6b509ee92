//! The harness on SQLite, in a file of its own.

use std::path::PathBuf;

use conformance::{Features, Harness, Nested, StoreOptions, at_most};
use inbox::HandlerError;
use inbox_sqlite::SqliteInboxStore;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use tempfile::TempDir;

const TABLES: &str = "
    CREATE TABLE effects (handler TEXT NOT NULL, message TEXT NOT NULL);
    CREATE TABLE things (name TEXT CONSTRAINT things_name PRIMARY KEY);
    CREATE TABLE children (parent TEXT CONSTRAINT children_parent
        REFERENCES things (name) DEFERRABLE INITIALLY DEFERRED);
";

/// A database file of its own; `GUARDED` is whether the store guards the commits.
pub(crate) struct Sqlite<const GUARDED: bool> {
    directory: TempDir,
    outside: SqlitePool,
}

impl<const GUARDED: bool> Sqlite<GUARDED> {
    fn path(&self) -> PathBuf {
        self.directory.path().join("inbox.db")
    }
}

fn pool(path: PathBuf, options: StoreOptions) -> SqlitePool {
    let connect = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(options.wait);
    SqlitePoolOptions::new()
        .max_connections(options.connections)
        .acquire_timeout(options.wait)
        .connect_lazy_with(connect)
}

impl<const GUARDED: bool> Harness for Sqlite<GUARDED> {
    type Store = SqliteInboxStore;

    const FEATURES: Features = Features {
        in_flight: false,
        aborts_on_failed_statement: false,
        refuses_commit: GUARDED,
        chains: false,
        names_constraints: false,
        connections: None,
    };

    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let outside = pool(directory.path().join("inbox.db"), StoreOptions::default());
        sqlx::raw_sql(TABLES).execute(&outside).await.unwrap();
        SqliteInboxStore::new(outside.clone()).migrate().await.unwrap();
        Self { directory, outside }
    }

    async fn store(&self, options: StoreOptions) -> SqliteInboxStore {
        let store = SqliteInboxStore::new(pool(self.path(), options));
        let mut store = store.with_busy_timeout(options.wait);
        if GUARDED {
            store = store.guard_commits();
        }
        if options.keep_source {
            store = store.keep_source();
        }
        if options.keep_fingerprint {
            store = store.keep_fingerprint();
        }
        store
    }

    async fn store_without_schema(&self) -> SqliteInboxStore {
        let path = self.directory.path().join("without-schema.db");
        SqliteInboxStore::new(pool(path, StoreOptions::default()))
    }

    async fn query(&self, sql: String) -> Vec<String> {
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&self.outside).await.unwrap()
    }

    fn dedup_rows_sql(consumer: &str) -> String {
        format!("SELECT lower(hex(message_id)) FROM inbox_messages WHERE consumer = '{consumer}'")
    }

    async fn execute(connection: &mut SqliteConnection, sql: String) -> Result<(), HandlerError> {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await?;
        Ok(())
    }

    async fn query_on(
        connection: &mut SqliteConnection,
        sql: String,
    ) -> Result<Vec<String>, HandlerError> {
        Ok(sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(connection).await?)
    }

    async fn in_savepoint(
        connection: &mut SqliteConnection,
        sql: String,
        end: Nested,
    ) -> Result<(), HandlerError> {
        let mut savepoint = connection.begin().await?;
        let _ = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *savepoint).await;
        match end {
            Nested::RollBack => savepoint.rollback().await?,
            Nested::Release => savepoint.commit().await?,
            Nested::Leak => std::mem::forget(savepoint),
        }
        Ok(())
    }

    async fn give_up_a_begin(connection: &mut SqliteConnection) {
        // One that was answered at once is dropped instead, and another is tried.
        while at_most(1, connection.begin()).await.is_some() {}
    }
}
