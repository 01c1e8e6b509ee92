//! A stock service, whichever broker its orders come from.

use inbox::{Consumer, Inbox, inbox_handler, integration_event};
use inbox_sqlite::{SqliteInboxStore, SqliteTx};
use serde::{Deserialize, Serialize};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

const CONSUMER: &str = "stock-service";

#[integration_event(name = "orders.order-placed.v1")]
#[derive(Deserialize, Serialize)]
pub(crate) struct OrderPlaced {
    pub(crate) sku: String,
    pub(crate) quantity: i64,
}

#[inbox_handler(consumer = "stock-service")]
async fn reserve_stock(event: OrderPlaced, mut tx: SqliteTx<'_>) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO reservations (sku, quantity) VALUES (?1, ?2)")
        .bind(event.sku)
        .bind(event.quantity)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

pub(crate) struct Service {
    store: SqliteInboxStore,
    inbox: Inbox<SqliteInboxStore>,
}

impl Service {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let store = SqliteInboxStore::in_memory().await?;
        let table = "CREATE TABLE reservations (sku TEXT NOT NULL, quantity INTEGER NOT NULL)";
        sqlx::query(table).execute(store.pool()).await?;
        let inbox = Inbox::from_registry().store(store.clone()).build().await?;
        Ok(Self { store, inbox })
    }

    pub(crate) fn consumer(&self) -> anyhow::Result<Consumer<SqliteInboxStore>> {
        Ok(self.inbox.consumer(CONSUMER)?)
    }

    /// How many reservations there are, and of how many pieces.
    pub(crate) async fn reserved(&self) -> anyhow::Result<(i64, i64)> {
        let sql = "SELECT count(*), coalesce(sum(quantity), 0) FROM reservations";
        Ok(sqlx::query_as(sql).fetch_one(self.store.pool()).await?)
    }
}

/// The inbox's own log lines: what becomes of each message.
pub(crate) fn show_what_becomes_of_each_message() {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).without_time();
    let inbox = Targets::new().with_target("inbox", LevelFilter::DEBUG);
    tracing_subscriber::registry().with(lines.with_target(false).with_filter(inbox)).init();
}
