//! A throwaway server with everything durable, near and behind a network.

use std::time::Duration;

use inbox_postgres::PgInboxStore;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor, PgPool};
use test_servers::postgres::{Cluster, Options, TestDatabase};
use test_servers::proxy::Proxy;

/// Rows that the handlers write to: far more than workers, so that they seldom meet.
pub(crate) const ROWS: i32 = 10_000;

const TABLES: &str = "
    CREATE TABLE hand (
        consumer text NOT NULL, message_id uuid NOT NULL, event_type text NOT NULL,
        processed_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (consumer, message_id));
    CREATE TABLE stock (sku int PRIMARY KEY, reserved bigint NOT NULL);";

/// How far away the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    Local,
    /// Half a millisecond each way.
    OneMillisecond,
}

impl Network {
    pub(crate) const ALL: [Self; 2] = [Self::Local, Self::OneMillisecond];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::OneMillisecond => "1 ms network",
        }
    }
}

/// The server, with the tables of the handlers, of the inbox and of the hand-written baselines.
pub(crate) struct Bed {
    pub(crate) cluster: Cluster,
    database: TestDatabase,
    proxy: Proxy,
}

impl Bed {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let cluster = Cluster::start(Options::default().durable()).await?;
        let database = cluster.server().create_database().await?;
        let proxy = Proxy::in_front_of(database.direct_url())?;
        proxy.delay_each_way(Duration::from_micros(500));
        let bed = Self { cluster, database, proxy };
        let pool = bed.pool(Network::Local, 1).await?;
        pool.execute(sqlx::raw_sql(TABLES)).await?;
        sqlx::query("INSERT INTO stock SELECT n, 0 FROM generate_series(0, $1) AS n")
            .bind(ROWS)
            .execute(&pool)
            .await?;
        PgInboxStore::new(pool.clone()).migrate().await?;
        pool.close().await;
        Ok(bed)
    }

    pub(crate) fn url(&self, network: Network) -> anyhow::Result<String> {
        Ok(match network {
            Network::Local => self.database.direct_url().to_owned(),
            Network::OneMillisecond => self.proxy.url_for(self.database.direct_url())?,
        })
    }

    /// A pool with a connection for each worker, and some for what is just being given back.
    pub(crate) async fn pool(&self, network: Network, workers: u32) -> anyhow::Result<PgPool> {
        let options = PgPoolOptions::new().max_connections(workers + 4);
        Ok(options.connect(&self.url(network)?).await?)
    }
}
