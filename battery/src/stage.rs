//! The database of one test.

use std::path::PathBuf;

use inbox_postgres::PgInboxStore;
use inbox_sqlite::SqliteInboxStore;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection as _, PgPool, SqliteConnection};
use tempfile::TempDir;
use test_servers::postgres::{Server, TestDatabase};

use crate::books::{Books, Kind};
use crate::{Result, form};

/// A PostgreSQL database.
pub struct Stage {
    /// What was published in it, and what came of that.
    pub books: Books,
    /// Straight to the server.
    pub pool: PgPool,
    url: String,
    name: String,
    /// Dropped with the value.
    database: Option<TestDatabase>,
}

impl Stage {
    /// On the server of this run.
    ///
    /// # Errors
    /// What the server refuses.
    pub async fn new() -> Result<Self> {
        Self::on(&Server::shared().await?).await
    }

    /// On a server of the test's own.
    ///
    /// # Errors
    /// What the server refuses.
    pub async fn on(server: &Server) -> Result<Self> {
        let database = server.create_database().await?;
        let pool = pool_to(database.direct_url()).await?;
        PgInboxStore::new(pool.clone()).migrate().await?;
        let books = Books::create(Kind::Postgres, database.direct_url()).await?;
        let url = if form::through_a_pooler() { database.url() } else { database.direct_url() };
        let (url, name) = (url.to_owned(), database.name().to_owned());
        Ok(Self { books, pool, url, name, database: Some(database) })
    }

    /// What a standby has of it.
    ///
    /// # Errors
    /// Where the standby does not let us in.
    pub async fn at_standby(&self, standby: &Server) -> Result<Self> {
        let url = standby.direct_url().strip_suffix("postgres").ok_or("not a cluster's URL")?;
        let (url, name) = (format!("{url}{}", self.name), self.name.clone());
        let (books, pool) = (Books::open(Kind::Postgres, &url).await?, pool_to(&url).await?);
        Ok(Self { books, pool, url, name, database: None })
    }

    /// Where consumers connect: through PgBouncer if the run does.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Straight to the server.
    pub fn direct_url(&self) -> &str {
        self.database.as_ref().map_or(self.url(), TestDatabase::direct_url)
    }
}

async fn pool_to(url: &str) -> Result<PgPool> {
    Ok(PgPoolOptions::new().max_connections(4).connect(url).await?)
}

/// A SQLite database, in a file.
pub struct SqliteStage(TempDir);

impl SqliteStage {
    /// A new file.
    ///
    /// # Errors
    /// What the file system refuses.
    pub async fn new() -> Result<Self> {
        let stage = Self(tempfile::tempdir()?);
        let store = SqliteInboxStore::open(stage.path()).await?;
        Books::create(Kind::Sqlite, &stage.url()).await?.close().await;
        store.pool().close().await;
        Ok(stage)
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.0.path().join("inbox.db")
    }

    /// How the books find it.
    pub fn url(&self) -> String {
        format!("sqlite://{}", self.path().display())
    }

    /// What was published in it, and what came of that.
    ///
    /// # Errors
    /// Where the file cannot be opened.
    pub async fn books(&self) -> Result<Books> {
        Books::open(Kind::Sqlite, &self.url()).await
    }

    /// Whether SQLite finds the file whole. Whoever is the first to open it after all others have died
    /// recovers it first.
    ///
    /// # Errors
    /// What is wrong with it.
    pub async fn is_sound(&self) -> Result<()> {
        let mut connection = SqliteConnection::connect(&self.url()).await?;
        let query = sqlx::query_scalar("PRAGMA integrity_check");
        let found: Vec<String> = query.fetch_all(&mut connection).await?;
        connection.close().await?;
        if found == ["ok"] { Ok(()) } else { Err(found.join("; ").into()) }
    }
}
