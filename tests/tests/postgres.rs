//! The suite on PostgreSQL: each message through the pool, and through workers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "all of it is tests")]

use conformance::{Connections, Features, Harness, Held, Nested, StoreOptions, at_most};
use inbox::HandlerError;
use inbox_postgres::PgInboxStore;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use test_servers::postgres::{Server, TestDatabase};

const TABLES: &str = "
    CREATE TABLE effects (handler text NOT NULL, message text NOT NULL);
    CREATE TABLE things (name text CONSTRAINT things_name PRIMARY KEY);
    CREATE TABLE children (parent text CONSTRAINT children_parent
        REFERENCES things (name) DEFERRABLE INITIALLY DEFERRED);
";

/// A database of its own on the shared server.
struct Postgres {
    database: TestDatabase,
    outside: PgPool,
}

fn pool(url: &str, options: StoreOptions) -> PgPool {
    let connect: PgConnectOptions = url.parse().unwrap();
    PgPoolOptions::new()
        .max_connections(options.connections)
        .acquire_timeout(options.wait)
        .connect_lazy_with(connect)
}

/// Behind a PgBouncer that does not follow named statements where the run goes through one.
fn store(pool: PgPool) -> PgInboxStore {
    let store = PgInboxStore::new(pool).accept_fsync_off();
    match std::env::var("INBOX_TEST_THROUGH").ok().filter(|through| !through.is_empty()) {
        Some(_) => store.without_named_statements(),
        None => store,
    }
}

impl Harness for Postgres {
    type Store = PgInboxStore;

    const FEATURES: Features = Features {
        in_flight: true,
        aborts_on_failed_statement: true,
        refuses_commit: true,
        chains: true,
        names_constraints: true,
        connections: Some(Connections {
            cut_own: "SELECT pg_terminate_backend(pg_backend_pid())",
            cut_others: "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity \
                         WHERE datname = current_database() AND pid <> pg_backend_pid()",
        }),
    };

    async fn start() -> Self {
        let database = Server::shared().await.unwrap().create_database().await.unwrap();
        let outside = pool(database.direct_url(), StoreOptions::default());
        sqlx::raw_sql(TABLES).execute(&outside).await.unwrap();
        PgInboxStore::new(outside.clone()).migrate().await.unwrap();
        Self { database, outside }
    }

    async fn store(&self, options: StoreOptions) -> PgInboxStore {
        let mut store = store(pool(self.database.url(), options));
        if options.keep_source {
            store = store.keep_audit();
        }
        if options.keep_fingerprint {
            store = store.keep_fingerprint();
        }
        store
    }

    async fn store_without_schema(&self) -> PgInboxStore {
        let pool = pool(self.database.url(), StoreOptions::default());
        PgInboxStore::in_schema(pool, "no_such_schema").unwrap().accept_fsync_off()
    }

    async fn query(&self, sql: String) -> Vec<String> {
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&self.outside).await.unwrap()
    }

    fn dedup_rows_sql(consumer: &str) -> String {
        format!("SELECT message_id::text FROM inbox.messages WHERE consumer = '{consumer}'")
    }

    async fn execute(connection: &mut PgConnection, sql: String) -> Result<(), HandlerError> {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await?;
        Ok(())
    }

    async fn query_on(
        connection: &mut PgConnection,
        sql: String,
    ) -> Result<Vec<String>, HandlerError> {
        let query = sqlx::query_scalar(AssertSqlSafe(sql)).persistent(false);
        Ok(query.fetch_all(connection).await?)
    }

    async fn in_savepoint(
        connection: &mut PgConnection,
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

    async fn give_up_a_begin(connection: &mut PgConnection) {
        // One that was answered at once is dropped instead, and another is tried.
        while at_most(1, connection.begin()).await.is_some() {}
    }
}

mod through_the_pool {
    conformance::suite!(super::Postgres);
}

mod through_workers {
    conformance::suite!(super::Held<super::Postgres>);
}
