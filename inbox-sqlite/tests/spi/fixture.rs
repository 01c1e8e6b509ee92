//! A database for each test, with a table of the application's own.

use std::future::{Future, poll_fn};
use std::path::PathBuf;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use inbox::{
    BatchClaim, Claim, Claimed, ClaimedBatch, CommitError, Envelope, Escape, InboxStore, MessageId,
    PairAnswer, Recorded, Slot, StoreError, UnitOfWork,
};
use inbox_sqlite::{SqliteInboxStore, SqliteUnit};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) const CONSUMER: &str = "orders-service";

pub(crate) struct Fixture {
    pub(crate) store: SqliteInboxStore,
    pub(crate) directory: TempDir,
}

impl Fixture {
    /// A database the store opened itself.
    pub(crate) async fn own() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteInboxStore::open(directory.path().join("inbox.db")).await.unwrap();
        Self::with(store, directory).await
    }

    /// A pool of the application's, of one connection.
    pub(crate) async fn application() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = options(&directory);
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
        let store = SqliteInboxStore::new(pool);
        store.migrate().await.unwrap();
        Self::with(store, directory).await
    }

    async fn with(store: SqliteInboxStore, directory: TempDir) -> Self {
        create_effects(store.pool()).await;
        Self { store, directory }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("inbox.db")
    }

    /// Another pool on the same file, as another process has it.
    pub(crate) async fn beside(&self) -> SqlitePool {
        SqlitePool::connect_with(options(&self.directory)).await.unwrap()
    }

    pub(crate) async fn effects(&self) -> i64 {
        count(&self.beside().await, "SELECT count(*) FROM effects").await
    }

    pub(crate) async fn rows(&self) -> i64 {
        count(&self.beside().await, "SELECT count(*) FROM inbox_messages").await
    }
}

pub(crate) fn options(directory: &TempDir) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(directory.path().join("inbox.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
}

pub(crate) async fn create_effects(pool: &SqlitePool) {
    sqlx::raw_sql("CREATE TABLE effects (what TEXT NOT NULL) STRICT").execute(pool).await.unwrap();
}

pub(crate) async fn count(pool: &SqlitePool, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(pool).await.unwrap()
}

pub(crate) fn message(number: u128) -> MessageId {
    MessageId::from_uuid(Uuid::from_u128(number)).unwrap()
}

pub(crate) fn envelope() -> Envelope {
    Envelope::new("unused", "orders.order-placed.v1", b"{}").with_source("shop")
}

pub(crate) async fn claim(
    store: &SqliteInboxStore,
    id: MessageId,
) -> Result<Claimed<SqliteUnit>, StoreError> {
    let envelope = envelope();
    store.claim(claim_of(&envelope, id), &mut Slot::passing()).await
}

fn claim_of(envelope: &Envelope, message_id: MessageId) -> Claim<'_> {
    let limit = Duration::from_secs(30);
    Claim { consumer: CONSUMER, message_id, envelope, run_limit: limit, statement_limit: limit }
}

pub(crate) async fn fresh(store: &SqliteInboxStore, id: MessageId) -> SqliteUnit {
    match claim(store, id).await.unwrap() {
        Claimed::Fresh(unit) => unit,
        other => panic!("not fresh: {other:?}"),
    }
}

pub(crate) async fn duplicate(store: &SqliteInboxStore, id: MessageId) -> Recorded {
    match claim(store, id).await.unwrap() {
        Claimed::Duplicate(recorded) => recorded,
        other => panic!("no duplicate: {other:?}"),
    }
}

/// The transaction of a batch, in which nothing is claimed yet.
pub(crate) async fn open_batch(store: &SqliteInboxStore) -> SqliteUnit {
    let limit = Duration::from_secs(30);
    let batch = BatchClaim {
        consumer: CONSUMER,
        claims: &[],
        exclusive: false,
        run_limit: limit,
        statement_limit: limit,
    };
    match store.open_batch(batch, &mut Slot::passing()).await.unwrap() {
        ClaimedBatch::Open(unit, _) => unit,
        ClaimedBatch::Busy(_) => panic!("nothing is exclusive here"),
    }
}

/// Whether the message is fresh.
pub(crate) async fn claim_in(unit: &mut SqliteUnit, id: MessageId) -> bool {
    let envelope = envelope();
    let answers = unit.claim_more(&[claim_of(&envelope, id)]).await.unwrap();
    matches!(answers[..], [PairAnswer::Fresh])
}

pub(crate) async fn commit(unit: SqliteUnit) -> Result<(), CommitError> {
    unit.commit(&mut Slot::passing()).await
}

pub(crate) async fn rollback(unit: SqliteUnit) -> Result<(), Escape> {
    unit.rollback(&mut Slot::passing()).await
}

/// What a handler does.
pub(crate) async fn run(unit: &mut SqliteUnit, sql: &'static str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(sql).execute(unit.connection()).await.map(drop)
}

pub(crate) const EFFECT: &str = "INSERT INTO effects VALUES ('done')";

/// Drops `future` when it has been pending for the `polls`th time: at its `polls`th await.
pub(crate) async fn drop_at<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
