//! [`SqliteInboxStore`]: the inbox in a SQLite database.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inbox::{
    BatchClaim, Claim, Claimed, ClaimedBatch, Fault, InboxStore, MessageId, PairAnswer, Recorded,
    Slot, StoreError, UnitOfWork as _,
};
use sqlx::{SqliteConnection, SqlitePool};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::claim::{Columns, find_on};
use crate::fault::{failed, fault_in};
use crate::unit::SqliteUnit;
use crate::writer::Writer;
use crate::{open, schema, sql};

/// The inbox in a SQLite database: a file, or memory.
///
/// The application's tables live in the same database, reached through [`pool`](Self::pool), so
/// that a handler's writes and the dedup row are committed together. Clones share everything.
#[derive(Clone)]
pub struct SqliteInboxStore {
    pool: SqlitePool,
    /// SQLite has one writer. Queueing for it here is fair, and holds no connection meanwhile.
    turn: Arc<Semaphore>,
    busy_timeout: Duration,
    guards_commits: bool,
    columns: Columns,
    origin: Origin,
}

#[derive(Clone)]
enum Origin {
    File,
    /// With the connection that keeps the database from vanishing; nobody uses it.
    Memory {
        _keeper: Arc<Mutex<SqliteConnection>>,
    },
    Application,
}

/// How to get a store.
impl SqliteInboxStore {
    /// Opens the database file at `path`, creates it and the inbox's tables where they are missing,
    /// and sets it to WAL with `synchronous` FULL and foreign keys enforced.
    ///
    /// # Errors
    /// When the file cannot be opened or written, and when its tables are of a newer release.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let pool = open::file(path.as_ref()).await?;
        let store = Self { guards_commits: true, origin: Origin::File, ..Self::new(pool) };
        store.migrate().await?;
        Ok(store)
    }

    /// A new database in memory, which lives as long as the store and its clones: for tests and
    /// trials. It has no readers beside a writer: outside the transaction context, a query on
    /// [`pool`](Self::pool) waits for the message that is being processed.
    ///
    /// # Errors
    /// When the memory is not to be had.
    pub async fn in_memory() -> Result<Self, StoreError> {
        let (pool, keeper) = open::memory().await?;
        let origin = Origin::Memory { _keeper: Arc::new(Mutex::new(keeper)) };
        let store = Self { guards_commits: true, origin, ..Self::new(pool) };
        store.migrate().await?;
        Ok(store)
    }

    /// The inbox in the application's own database. Nothing is changed on the pool, and nothing is
    /// created before [`migrate`](Self::migrate); `build()` refuses settings that endanger the
    /// promise. Open the pool in WAL mode:
    ///
    /// ```
    /// use inbox_sqlite::SqliteInboxStore;
    /// use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteSynchronous};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("shop.db");
    /// let options = SqliteConnectOptions::new()
    ///     .filename(path)
    ///     .create_if_missing(true)
    ///     .journal_mode(SqliteJournalMode::Wal)
    ///     .synchronous(SqliteSynchronous::Full);
    /// let store = SqliteInboxStore::new(SqlitePool::connect_with(options).await?);
    /// store.migrate().await?;
    /// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn new(pool: SqlitePool) -> Self {
        Self {
            pool,
            turn: Arc::new(Semaphore::new(1)),
            busy_timeout: open::BUSY_TIMEOUT,
            guards_commits: false,
            columns: Columns::default(),
            origin: Origin::Application,
        }
    }
}

/// What can be chosen.
impl SqliteInboxStore {
    /// Keeps each message's source, so that a known id from another source is noticed.
    pub fn keep_source(mut self) -> Self {
        self.columns.source = true;
        self
    }

    /// Keeps a fingerprint of each payload, so that a known id with another body is noticed.
    pub fn keep_fingerprint(mut self) -> Self {
        self.columns.fingerprint = true;
        self
    }

    /// How long a message waits for the one before it; 5 seconds unless set. Between processes it is
    /// the busy timeout of the pool's connections that counts.
    pub fn with_busy_timeout(self, busy_timeout: Duration) -> Self {
        Self { busy_timeout, ..self }
    }

    /// Has SQLite refuse a handler's own COMMIT on the application's pool too. The store then sets
    /// the commit hook and the progress handler of the connections it uses, in place of the
    /// application's own; so it is on by itself only where the store opened the database.
    pub fn guard_commits(self) -> Self {
        Self { guards_commits: true, ..self }
    }

    /// The pool, for the application's own reads and for creating its tables.
    pub fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    /// Creates the inbox's tables, or brings them up to date. They are named `inbox_…`; tables of
    /// the application and of other migration tools are not touched. Safe to call at every start, by
    /// many processes at once.
    ///
    /// # Errors
    /// When the database cannot be written, and when its tables are of a newer release.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        let mut connection = self.connection().await?;
        if schema::is_current(schema::version(&mut connection).await?)? {
            return Ok(()); // needs no writer's turn
        }
        drop(connection);
        let mut writer = self.writer().await?;
        writer
            .begin(sql::BEGIN)
            .await
            .map_err(|error| failed("could not begin to migrate", error))?;
        schema::migrate(writer).await
    }

    /// The turn first, the connection then: who waits holds none.
    pub(crate) async fn writer(&self) -> Result<Writer, StoreError> {
        let turn = timeout(self.busy_timeout, Arc::clone(&self.turn).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            let waited = self.busy_timeout;
            let message = format!("another message held the database for longer than {waited:?}");
            return Err(StoreError::new(Fault::Busy, message));
        };
        Ok(Writer::new(self.connection().await?, turn))
    }

    /// Opens a unit of work in which nothing is claimed yet.
    async fn begin(
        &self,
        begin: &'static str,
        consumer: &'static str,
    ) -> Result<SqliteUnit, StoreError> {
        let mut writer = self.writer().await?;
        let begun = async {
            if self.guards_commits {
                writer.guard_commits().await?;
            }
            writer.begin(begin).await
        };
        begun.await.map_err(|error| failed("could not begin a transaction", error))?;
        Ok(SqliteUnit::new(writer, consumer, self.columns))
    }

    pub(crate) async fn connection(
        &self,
    ) -> Result<sqlx::pool::PoolConnection<sqlx::Sqlite>, StoreError> {
        self.pool.acquire().await.map_err(|error| failed("could not get a connection", error))
    }
}

impl InboxStore for SqliteInboxStore {
    type Connection = SqliteConnection;
    type Held = ();
    type Unit = SqliteUnit;
    const NAME: &'static str = "SQLite";

    async fn check(&self) -> Result<Vec<String>, StoreError> {
        let mut connection = self.connection().await?;
        let mut problems = match self.origin {
            Origin::Application => schema::unsafe_settings(&mut connection).await?,
            Origin::File | Origin::Memory { .. } => Vec::new(),
        };
        problems.extend(schema::problems(&mut connection).await?);
        Ok(problems)
    }

    /// A batch holds the database's one write lock as long as its handlers run; so it is the
    /// application that bounds it.
    const BATCH_LIMIT: usize = usize::MAX;
    const EMBEDDED: bool = true;

    async fn claim(
        &self,
        claim: Claim<'_>,
        _: &mut Slot<()>,
    ) -> Result<Claimed<SqliteUnit>, StoreError> {
        let mut unit = self.begin(sql::BEGIN, claim.consumer).await?;
        Ok(match unit.claim(claim).await? {
            PairAnswer::Fresh => Claimed::Fresh(unit),
            PairAnswer::Duplicate(recorded) => {
                unit.writer.rollback().await;
                Claimed::Duplicate(recorded)
            }
            PairAnswer::InFlight => Claimed::InFlight, // never told here
        })
    }

    async fn open_batch(
        &self,
        batch: BatchClaim<'_>,
        _: &mut Slot<()>,
    ) -> Result<ClaimedBatch<SqliteUnit>, StoreError> {
        let mut unit = self.begin(sql::BEGIN_BATCH, batch.consumer).await?;
        let answers = unit.claim_more(batch.claims).await?;
        Ok(ClaimedBatch::Open(unit, answers))
    }

    async fn find(
        &self,
        consumer: &str,
        message_id: MessageId,
    ) -> Result<Option<Recorded>, StoreError> {
        find_on(&mut *self.connection().await?, consumer, message_id).await
    }

    fn fault_in(&self, error: &(dyn Error + 'static)) -> Option<Fault> {
        fault_in(error)
    }
}

impl fmt::Debug for SqliteInboxStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = match self.origin {
            Origin::File => "file",
            Origin::Memory { .. } => "memory",
            Origin::Application => "application's pool",
        };
        write!(f, "SqliteInboxStore({database})")
    }
}
