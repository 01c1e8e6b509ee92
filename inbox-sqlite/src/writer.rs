//! [`Writer`]: the process's turn to write, and the connection it writes through.

use inbox::CommitError;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqliteTransactionManager as Transactions;
use sqlx::{SqlSafeStr, Sqlite, SqliteConnection};
use sqlx_core::transaction::TransactionManager;
use tokio::sync::OwnedSemaphorePermit;

use crate::fault::{COMMIT_HOOK, code, failed, sqlite_code};
use crate::guard::CommitGuard;
use crate::sql;

/// A connection that goes back to its pool only when it is proven to carry no transaction, and is
/// closed otherwise: wherever its owner is dropped, no later message can commit what is left on it.
///
/// sqlx's own `Transaction` is not enough. It rolls back by a count of savepoints, which a cancelled
/// `begin`, a leaked savepoint or a handler's raw SQL puts wrong, and gives the connection back
/// whatever came of it.
pub(crate) struct Writer {
    connection: PoolConnection<Sqlite>,
    /// Whether a transaction may be open. True from before `begin` is sent.
    dirty: bool,
    guard: Option<CommitGuard>,
    _turn: OwnedSemaphorePermit,
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.dirty {
            self.connection.close_on_drop();
            if let Some(guard) = &self.guard {
                guard.interrupt();
            }
        }
    }
}

impl Writer {
    pub(crate) fn new(connection: PoolConnection<Sqlite>, turn: OwnedSemaphorePermit) -> Self {
        Self { connection, dirty: false, guard: None, _turn: turn }
    }

    pub(crate) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// Refuses every commit but the one of [`commit`](Self::commit).
    pub(crate) async fn guard_commits(&mut self) -> sqlx::Result<()> {
        self.dirty = true;
        self.guard = Some(CommitGuard::install(&mut self.connection).await?);
        Ok(())
    }

    /// Opens the transaction through sqlx, so that sqlx knows of it and a handler's `begin()` is a
    /// savepoint.
    pub(crate) async fn begin(&mut self, begin: &'static str) -> sqlx::Result<()> {
        self.dirty = true;
        Transactions::begin(&mut self.connection, Some(begin.into_sql_str())).await
    }

    /// Proves that the transaction is the one that [`begin`](Self::begin) opened.
    pub(crate) async fn prove(&mut self) -> sqlx::Result<()> {
        sqlx::raw_sql(sql::PROVE).execute(self.connection()).await.map(drop)
    }

    /// The same, of a transaction that goes on.
    pub(crate) async fn probe(&mut self) -> sqlx::Result<()> {
        sqlx::raw_sql(sql::PROBE).execute(self.connection()).await.map(drop)
    }

    /// Proves the same, and sets the mark to which [`undo`](Self::undo) goes back.
    pub(crate) async fn mark(&mut self) -> sqlx::Result<()> {
        sqlx::raw_sql(sql::MARK).execute(self.connection()).await.map(drop)
    }

    /// Goes back to the last mark, or to the beginning. A statement that still runs is stopped before.
    pub(crate) async fn undo(&mut self) -> sqlx::Result<()> {
        self.stop_statements().await;
        sqlx::raw_sql(sql::UNDO).execute(self.connection()).await.map(drop)
    }

    /// Commits the proven transaction. A savepoint that a handler leaked is committed with the rest.
    pub(crate) async fn commit(mut self) -> Result<(), CommitError> {
        if let Some(guard) = &self.guard {
            guard.open();
        }
        // At any other depth sqlx would release a savepoint, or send nothing, and answer Ok.
        let sent = match self.depth() {
            1 => Transactions::commit(&mut self.connection).await,
            _ => sqlx::raw_sql(sql::COMMIT).execute(self.connection()).await.map(drop),
        };
        match sent {
            // SQLite answers OK to a COMMIT only when it ends a transaction, so none is open now.
            Ok(()) => {
                self.dirty = self.depth() != 0;
                Ok(())
            }
            Err(error) => Err(self.after_failed_commit(error).await),
        }
    }

    /// A transaction that can still be rolled back was not committed. For one that is gone SQLite
    /// may have written the commit and failed to flush it: recovery may find it or not.
    async fn after_failed_commit(mut self, error: sqlx::Error) -> CommitError {
        let refused = sqlite_code(&error) == Some(COMMIT_HOOK);
        let error = failed("could not commit", error);
        if self.try_rollback().await.is_ok() || refused {
            CommitError::Refused(error)
        } else {
            CommitError::Unknown(error)
        }
    }

    /// Rolls back and gives the connection back; one that cannot is closed.
    pub(crate) async fn rollback(mut self) {
        let _ = self.try_rollback().await;
    }

    async fn try_rollback(&mut self) -> sqlx::Result<()> {
        match self.depth() {
            1 => Transactions::rollback(&mut self.connection).await?,
            _ => self.rollback_whatever_is_open().await?,
        }
        self.dirty = self.depth() != 0;
        if let (false, Some(guard)) = (self.dirty, &self.guard) {
            guard.open(); // for whoever has the connection next
        }
        Ok(())
    }

    /// Past sqlx's count of savepoints.
    pub(crate) async fn rollback_whatever_is_open(&mut self) -> sqlx::Result<()> {
        sqlx::raw_sql(sql::ROLLBACK).execute(self.connection()).await.map(drop)
    }

    /// Interrupts a statement that is still running for a handler that was given up, waits until it
    /// has ended, and answers as [`last_code`](Self::last_code) does.
    pub(crate) async fn stop_statements(&mut self) -> Option<i32> {
        let guard = self.guard.clone();
        guard.iter().for_each(CommitGuard::interrupt);
        let code = self.last_code().await; // queues behind the statement
        guard.iter().for_each(CommitGuard::resume);
        code
    }

    /// SQLite's code of the connection's last call, if it failed.
    pub(crate) async fn last_code(&mut self) -> Option<i32> {
        let mut handle = self.connection.lock_handle().await.ok()?;
        handle.last_error().map(|error| code(&error))
    }

    /// Whether every commit but ours is refused.
    pub(crate) fn guards_commits(&self) -> bool {
        self.guard.is_some()
    }

    /// Whether a commit that was not ours was refused.
    pub(crate) fn refused_a_commit(&self) -> bool {
        self.guard.as_ref().is_some_and(CommitGuard::refused)
    }

    /// Whether [`stop_statements`](Self::stop_statements) found one to stop.
    pub(crate) fn interrupted_a_statement(&self) -> bool {
        self.guard.as_ref().is_some_and(CommitGuard::interrupted)
    }

    /// How many transactions and savepoints sqlx has counted: 1 is ours alone.
    pub(crate) fn depth(&self) -> usize {
        Transactions::get_transaction_depth(&self.connection)
    }
}
