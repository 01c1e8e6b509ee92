//! One SQLite file that holds the service's tables and the inbox's.

use std::path::Path;

use anyhow::Context;
use inbox_sqlite::SqliteInboxStore;
use tempfile::TempDir;

use super::{Database, StockRow};
use crate::handlers::sqlite::CONSUMER;
use crate::sql;

/// An open file.
pub(crate) struct Sqlite {
    store: SqliteInboxStore,
    /// Goes with the file in it when the program ends.
    temporary: Option<TempDir>,
}

impl Sqlite {
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
        let made = sqlx::raw_sql(sql::SQLITE_TABLES).execute(store.pool()).await;
        made.with_context(|| format!("cannot make the tables in `{}`", path.display()))?;
        Ok(Self { store, temporary })
    }
}

impl Database for Sqlite {
    type Store = SqliteInboxStore;
    const CONSUMER: &'static str = CONSUMER;

    fn store(&self) -> SqliteInboxStore {
        self.store.clone()
    }

    async fn stock(&self) -> anyhow::Result<Vec<StockRow>> {
        Ok(sqlx::query_as(sql::STOCK).fetch_all(self.store.pool()).await?)
    }

    /// Writes the log back into the file, so that the file alone is the whole database.
    async fn close(self) -> anyhow::Result<()> {
        self.store.pool().close().await;
        drop(self.temporary);
        Ok(())
    }
}
