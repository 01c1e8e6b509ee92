//! How the store opens databases of its own.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inbox::{Fault, StoreError};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, SqliteConnection, SqlitePool};
use tokio::time::{Instant, sleep};

use crate::fault::{failed, is_busy};
use crate::sql;

/// How long a writer waits for another, unless set.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A pool over the file at `path`, in WAL mode.
pub(crate) async fn file(path: &Path) -> Result<SqlitePool, StoreError> {
    if path.as_os_str().is_empty() || path == Path::new(":memory:") {
        let message =
            "a database file needs a name; for one in memory call `SqliteInboxStore::in_memory()`";
        return Err(StoreError::new(Fault::Other, message));
    }
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .foreign_keys(true)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        // macOS alone: without it a flush ends in the disk's cache.
        .pragma("fullfsync", "1")
        .pragma("checkpoint_fullfsync", "1");
    let pool = pool().connect_lazy_with(options);
    let place = format!("the database file `{}`", path.display());
    match use_wal(&pool).await {
        Ok(mode) if mode == "wal" => Ok(pool),
        Ok(mode) => {
            let message = format!(
                "{place} stays in journal mode {}: its file system has no write-ahead log; give a \
                 pool in journal mode TRUNCATE to `SqliteInboxStore::new`",
                mode.to_uppercase()
            );
            Err(StoreError::new(Fault::Other, message))
        }
        Err(error) => Err(failed(&format!("could not open {place}"), error)),
    }
}

/// Turns write-ahead logging on and answers the mode the database is then in. Of ten processes that
/// do so at once on a new file, now and then one is told at once that it is locked (1 open of 600,
/// measured): two that upgrade their lock cannot both wait for the busy timeout.
async fn use_wal(pool: &SqlitePool) -> sqlx::Result<String> {
    let give_up = Instant::now() + BUSY_TIMEOUT;
    loop {
        match sqlx::query_scalar(sql::USE_WAL).fetch_one(pool).await {
            Err(error) if is_busy(&error) && Instant::now() < give_up => {
                sleep(Duration::from_millis(10)).await;
            }
            answer => return answer,
        }
    }
}

/// A pool over a new database in memory, and the connection that keeps it: the database lives as
/// long as one connection to it, and the pool may close its last.
pub(crate) async fn memory() -> Result<(SqlitePool, SqliteConnection), StoreError> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // Only a name with a leading slash is shared between connections. Unlike a shared cache this
    // has no locks on tables, which ignore the busy timeout.
    let name = format!("/inbox-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let options = SqliteConnectOptions::new()
        .filename(name)
        .vfs("memdb")
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT);
    let keeper = options.connect().await;
    let keeper = keeper.map_err(|error| failed("could not open a database in memory", error))?;
    Ok((pool().connect_lazy_with(options), keeper))
}

fn pool() -> SqlitePoolOptions {
    SqlitePoolOptions::new().test_before_acquire(false) // there is no network that could be gone
}
