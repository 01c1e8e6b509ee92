//! Two of SQLite's hooks on the connection of a unit of work: one refuses every commit but ours, one
//! interrupts a statement that nobody waits for.
//!
//! A connection has one hook of each kind, so the application's own would be replaced. Hence only on
//! connections that the store opened itself, or where the application allowed it. Setting both costs
//! one round trip to the connection's thread, about 3 % of a message in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use sqlx::SqliteConnection;

/// One unit of work's hooks, told from outside what to do.
#[derive(Clone, Default)]
pub(crate) struct CommitGuard(Arc<Flags>);

#[derive(Default)]
struct Flags {
    open: AtomicBool,
    refused: AtomicBool,
    interrupting: AtomicBool,
}

/// How many instructions of SQLite's machine run between two looks: well below a millisecond.
const INSTRUCTIONS: i32 = 10_000;

impl CommitGuard {
    /// Sets the hooks, in place of those of the connection's last unit of work.
    pub(crate) async fn install(connection: &mut SqliteConnection) -> sqlx::Result<Self> {
        let guard = Self::default();
        let (commits, statements) = (guard.clone(), guard.clone());
        let mut handle = connection.lock_handle().await?;
        handle.set_commit_hook(move || commits.allows_commit());
        handle.set_progress_handler(INSTRUCTIONS, move || !statements.0.interrupting.load(SeqCst));
        Ok(guard)
    }

    /// From now on commits go through.
    pub(crate) fn open(&self) {
        self.0.open.store(true, SeqCst);
    }

    /// Whether a commit was refused.
    pub(crate) fn refused(&self) -> bool {
        self.0.refused.load(SeqCst)
    }

    /// Stops what the connection is running, until [`resume`](Self::resume).
    pub(crate) fn interrupt(&self) {
        self.0.interrupting.store(true, SeqCst);
    }

    pub(crate) fn resume(&self) {
        self.0.interrupting.store(false, SeqCst);
    }

    fn allows_commit(&self) -> bool {
        let open = self.0.open.load(SeqCst);
        if !open {
            self.0.refused.store(true, SeqCst);
        }
        open
    }
}
