//! The embedded store of the inbox: SQLite, with nothing to install.
//!
//! ```
//! use inbox_sqlite::{SqliteInboxStore, SqliteTx};
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("inbox.db");
//! let store = SqliteInboxStore::open(path).await?;
//!
//! // The application's own tables live in the same file: a handler's writes and the dedup row are
//! // committed together.
//! sqlx::query("CREATE TABLE stock (sku TEXT PRIMARY KEY, on_hand INTEGER NOT NULL) STRICT")
//!     .execute(store.pool())
//!     .await?;
//!
//! // What a handler does with its transaction context:
//! async fn receive(sku: &str, quantity: i64, mut tx: SqliteTx<'_>) -> Result<(), sqlx::Error> {
//!     sqlx::query("INSERT INTO stock VALUES (?1, ?2) ON CONFLICT (sku) DO UPDATE SET on_hand = on_hand + ?2")
//!         .bind(sku)
//!         .bind(quantity)
//!         .execute(&mut *tx)
//!         .await?;
//!     Ok(())
//! }
//! # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! # What SQLite does differently
//!
//! - **One writer at a time.** A message waits for the one before it, in the order of arrival within
//!   a process and by SQLite's busy timeout between processes. Waiting longer than the timeout (5
//!   seconds) is a transient `Err(Store)` that counts no attempt. A twin cannot be told from any
//!   other writer, so there is no `InFlight`. A handler that dispatches another message on the same
//!   store waits for itself.
//! - **A failed statement does not abort the transaction**, so a handler that swallows one commits
//!   the rest. A full disk, an I/O error or an exhausted memory do: SQLite then rolls back by itself.
//! - **A handler's own COMMIT is refused** on connections that the store opened itself, and with it
//!   everything the handler would write past a ROLLBACK of its own; see
//!   [`guard_commits`](SqliteInboxStore::guard_commits) for the application's own pool. Where it is
//!   not refused it is found out.
//! - **Attached databases** are committed each for itself when the machine crashes in WAL mode, so
//!   what a handler writes into one is not covered by the promise.

mod claim;
mod fault;
mod guard;
mod open;
mod schema;
mod sql;
mod store;
mod transport;
mod transport_sql;
mod tx;
mod unit;
mod writer;

pub use schema::MIGRATIONS;
pub use store::SqliteInboxStore;
pub use tx::SqliteTx;
pub use unit::SqliteUnit;
