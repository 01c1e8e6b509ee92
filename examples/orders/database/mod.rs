//! The stock service's database: its own tables, and the inbox's beside them.

mod postgres;
mod sqlite;

use inbox::InboxStore;

pub(crate) use self::postgres::Postgres;
pub(crate) use self::sqlite::Sqlite;

/// An open database.
pub(crate) trait Database {
    type Store: InboxStore;

    /// The subscriber whose handlers write to it.
    const CONSUMER: &'static str;

    fn store(&self) -> Self::Store;

    async fn stock(&self) -> anyhow::Result<Vec<StockRow>>;

    async fn close(self) -> anyhow::Result<()>;
}

/// One sku.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct StockRow {
    pub(crate) sku: String,
    pub(crate) on_hand: i64,
    pub(crate) reserved: i64,
}
