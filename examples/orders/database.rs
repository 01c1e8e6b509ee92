//! The stock service's database: one SQLite file that holds its own tables and the inbox's.

use std::path::Path;

use anyhow::Context;
use inbox_sqlite::SqliteInboxStore;
use tempfile::TempDir;

use crate::sql;

/// An open database.
pub(crate) struct Database {
    store: SqliteInboxStore,
    /// Goes with the file in it when the program ends.
    temporary: Option<TempDir>,
}

/// One sku.
#[derive(Debug)]
pub(crate) struct StockRow {
    pub(crate) sku: String,
    pub(crate) on_hand: i64,
    pub(crate) reserved: i64,
}

impl Database {
    /// Opens the file at `path`, which is made where there is none; without a path, a temporary
    /// one.
    pub(crate) async fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        let (path, temporary) = match path {
            Some(path) => (path.to_owned(), None),
            None => {
                let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
                (directory.path().join("orders.sqlite3"), Some(directory))
            }
        };
        // Its text is whole: with the driver's error below it everything would be said twice.
        let store = SqliteInboxStore::open(&path).await.map_err(anyhow::Error::msg)?;
        let made = sqlx::raw_sql(sql::TABLES).execute(store.pool()).await;
        made.with_context(|| format!("cannot make the tables in `{}`", path.display()))?;
        Ok(Self { store, temporary })
    }

    pub(crate) fn store(&self) -> SqliteInboxStore {
        self.store.clone()
    }

    pub(crate) async fn stock(&self) -> anyhow::Result<Vec<StockRow>> {
        let rows: Vec<(String, i64, i64)> =
            sqlx::query_as(sql::STOCK).fetch_all(self.store.pool()).await?;
        let row = |(sku, on_hand, reserved)| StockRow { sku, on_hand, reserved };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Writes the log back into the file, so that the file alone is the whole database.
    pub(crate) async fn close(self) {
        self.store.pool().close().await;
        drop(self.temporary);
    }
}
