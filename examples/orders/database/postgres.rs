//! A PostgreSQL database that is somebody's: the demonstration works in schemas of its own and drops
//! them; a stream is applied to tables in the default schema, which are made where there are none.

use std::time::Duration;

use anyhow::Context;
use inbox_postgres::PgInboxStore;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Executor, PgPool};

use super::{Database, StockRow};
use crate::handlers::postgres::CONSUMER;
use crate::sql;

/// An open database.
pub(crate) struct Postgres {
    store: PgInboxStore,
    /// The schema of the demonstration, with the inbox's schema named after it.
    temporary: Option<String>,
}

const SCHEMA: &str = "orders_demo";

impl Postgres {
    /// Opens the database to keep what is written.
    pub(crate) async fn open(url: &str, accept_fsync_off: bool) -> anyhow::Result<Self> {
        let pool = connect(options(url)?).await?;
        let store = PgInboxStore::new(pool);
        Self::prepare(store, None, accept_fsync_off).await
    }

    /// Opens the database for a demonstration, which leaves nothing behind.
    pub(crate) async fn open_for_demonstration(
        url: &str,
        accept_fsync_off: bool,
    ) -> anyhow::Result<Self> {
        let schema = format!("{SCHEMA}_{:08x}", fastrand::u32(..));
        let pool = connect(options(url)?.options([("search_path", &schema)])).await?;
        let create = format!("CREATE SCHEMA {schema}");
        pool.execute(AssertSqlSafe(create)).await.context("cannot make a schema")?;
        let store = PgInboxStore::in_schema(pool, &inbox_schema(&schema))?;
        Self::prepare(store, Some(schema), accept_fsync_off).await
    }

    async fn prepare(
        store: PgInboxStore,
        temporary: Option<String>,
        accept_fsync_off: bool,
    ) -> anyhow::Result<Self> {
        let store = if accept_fsync_off { store.accept_fsync_off() } else { store };
        store.migrate().await.map_err(anyhow::Error::msg)?;
        let made = store.pool().execute(sqlx::raw_sql(sql::POSTGRES_TABLES)).await;
        made.context("cannot make the tables `stock` and `orders`")?;
        let ours = store.pool().execute(sql::OUR_TABLES).await;
        ours.context(
            "its tables `stock` and `orders` are not this example's: take another database",
        )?;
        Ok(Self { store, temporary })
    }
}

fn inbox_schema(schema: &str) -> String {
    format!("{schema}_inbox")
}

/// The driver's own error may quote the URL, and with it the password.
fn options(url: &str) -> anyhow::Result<PgConnectOptions> {
    let parsed = url.parse();
    parsed.map_err(|_| anyhow::anyhow!("--database-url is no postgres://user@host/database URL"))
}

async fn connect(options: PgConnectOptions) -> anyhow::Result<PgPool> {
    let patience = Duration::from_secs(5);
    let pool = PgPoolOptions::new().max_connections(8).acquire_timeout(patience);
    pool.connect_with(options).await.context("cannot connect to the database of --database-url")
}

impl Database for Postgres {
    type Store = PgInboxStore;
    const CONSUMER: &'static str = CONSUMER;

    fn store(&self) -> PgInboxStore {
        self.store.clone()
    }

    async fn stock(&self) -> anyhow::Result<Vec<StockRow>> {
        Ok(sqlx::query_as(sql::STOCK).fetch_all(self.store.pool()).await?)
    }

    async fn close(self) -> anyhow::Result<()> {
        if let Some(schema) = self.temporary {
            let drop = format!("DROP SCHEMA {schema}, {} CASCADE", inbox_schema(&schema));
            let dropped = self.store.pool().execute(AssertSqlSafe(drop)).await;
            dropped.with_context(|| format!("cannot drop the schema `{schema}`"))?;
        }
        self.store.pool().close().await;
        Ok(())
    }
}
