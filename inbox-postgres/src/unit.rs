//! The unit of work: one transaction on one connection that it owns.
//!
//! Whatever is dropped at whatever await, a connection goes back to the pool only when its
//! transaction ended proven clean; else it is closed, and the server rolls back. A connection that
//! went back with an open transaction would commit this message's dedup row with the next message's.

use std::time::Duration;

use futures_util::TryStreamExt;
use inbox::{CommitError, Escape, MessageId, StoreError, UnitOfWork};
use sqlx::pool::PoolConnection;
use sqlx::{Connection as _, Database, Executor, PgConnection, Postgres, SqlSafeStr as _};
use sqlx_core::transaction::TransactionManager;

use crate::error::{ends_the_session, has_code, sqlstate, store_error};
use crate::sql;

/// How long a rollback waits for its connection before it closes it instead.
const ROLLBACK_PATIENCE: Duration = Duration::from_secs(5);

type Manager = <Postgres as Database>::TransactionManager;

/// A connection that is closed when dropped, unless it was declared clean.
#[derive(Debug)]
pub(crate) struct Lease {
    connection: PoolConnection<Postgres>,
    clean: bool,
}

impl Lease {
    pub(crate) fn new(connection: PoolConnection<Postgres>) -> Self {
        Self { connection, clean: false }
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    /// Gives the connection back to its pool. The transaction that is open on it has nothing in it;
    /// sqlx's ROLLBACK for it is queued here and sent by the pool before anyone else gets the
    /// connection.
    pub(crate) fn give_back(mut self) {
        Manager::start_rollback(&mut self.connection);
        self.clean = !self.connection.is_in_transaction();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.clean {
            self.connection.close_on_drop();
        }
    }
}

/// An open transaction with a claim in it.
#[derive(Debug)]
pub struct PgUnit {
    lease: Lease,
    row: Row,
}

/// The dedup row of a unit of work, to look for where a handler ended the transaction.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) find: sql::Text,
    pub(crate) consumer: &'static str,
    pub(crate) message_id: MessageId,
}

impl PgUnit {
    /// Opens the transaction at sqlx's depth 1, so that a handler's own `begin()` is a savepoint.
    pub(crate) async fn open(
        connection: PoolConnection<Postgres>,
        row: Row,
    ) -> Result<Self, StoreError> {
        let mut lease = Lease::new(connection);
        let begun = Manager::begin(lease.connection(), Some(sql::BEGIN.into_sql_str()));
        begun.await.map_err(|error| store_error("opening a transaction", error))?;
        Ok(Self { lease, row })
    }

    /// Ends a transaction in which no handler ran.
    pub(crate) async fn close(mut self) -> Result<(), StoreError> {
        let rolled_back = Manager::rollback(self.lease.connection()).await;
        rolled_back.map_err(|error| store_error("ending a transaction", error))?;
        self.lease.clean = !self.lease.connection().is_in_transaction();
        Ok(())
    }

    /// Runs one of the guarded queries. On failure the flag tells whether the proof had passed.
    async fn guarded(&mut self, query: &'static str) -> Result<(), (bool, sqlx::Error)> {
        let mut proven = false;
        let mut answers = self.lease.connection().fetch_many(sqlx::raw_sql(query));
        loop {
            match answers.try_next().await {
                Ok(Some(answer)) => proven |= answer.is_right(), // the proof's row
                Ok(None) => return Ok(()),
                Err(error) => return Err((proven, error)),
            }
        }
    }

    /// Gives the connection back, unless a handler left a savepoint open behind sqlx's back (by
    /// `mem::forget`): its count of open savepoints would be wrong for ever.
    fn give_back(mut self) {
        if Manager::get_transaction_depth(self.lease.connection()) == 1 {
            self.lease.give_back();
        }
    }

    /// Gives the connection back after the server ended the transaction by itself, as it does when a
    /// COMMIT fails. The new transaction takes up the ROLLBACK that sqlx owes.
    async fn give_back_ended(mut self) {
        let begun = self.lease.connection().execute(sql::BEGIN).await;
        if begun.is_ok() {
            self.give_back();
        }
    }

    /// What a handler that ended the transaction left behind. The connection is closed afterwards.
    async fn escape(mut self) -> Escape {
        let Row { find, consumer, message_id } = self.row.clone();
        let connection = self.lease.connection();
        // Its answer tells nothing: there may be no transaction to end.
        let _ = connection.execute(sql::ROLLBACK_ANY).await;
        let found = sqlx::query(sql::safe(&find))
            .bind(consumer)
            .bind(message_id.as_uuid())
            .persistent(false)
            .fetch_optional(connection)
            .await;
        match found {
            Ok(None) => Escape::RolledBack,
            Ok(Some(_)) | Err(_) => Escape::Committed,
        }
    }

    async fn roll_back(mut self) -> Result<(), Escape> {
        match self.guarded(sql::ROLLBACK).await {
            Ok(()) => {
                self.give_back();
                Ok(())
            }
            Err((_, error)) if has_code(&error, sqlstate::INVALID_TEXT) => Err(self.escape().await),
            Err((_, error)) if has_code(&error, sqlstate::IN_FAILED_TRANSACTION) => {
                self.roll_back_aborted().await;
                Ok(())
            }
            Err(_) => Ok(()), // the connection is closed, and the server rolls back
        }
    }

    /// Ends a transaction that a failed statement has aborted.
    async fn roll_back_aborted(mut self) {
        let ended = self.lease.connection().execute(sql::ROLLBACK_ABORTED).await;
        if ended.is_ok() {
            self.give_back();
        }
    }

    /// Why a FINISH failed.
    async fn not_committed(self, proven: bool, error: sqlx::Error) -> CommitError {
        let without_answer = ends_the_session(&error);
        if !proven && has_code(&error, sqlstate::INVALID_TEXT) {
            return CommitError::Escaped(self.escape().await);
        }
        if !proven && has_code(&error, sqlstate::IN_FAILED_TRANSACTION) {
            self.roll_back_aborted().await;
            return CommitError::Aborted;
        }
        let refused_before_commit = !proven && error.as_database_error().is_some();
        let told = store_error("committing", error);
        if without_answer && !refused_before_commit {
            return CommitError::Unknown(told);
        }
        if !without_answer {
            self.give_back_ended().await;
        }
        CommitError::Refused(told)
    }
}

impl UnitOfWork for PgUnit {
    type Connection = PgConnection;

    fn connection(&mut self) -> &mut PgConnection {
        self.lease.connection()
    }

    async fn probe(&mut self) -> Result<bool, StoreError> {
        match self.lease.connection().execute(sql::PROBE).await {
            Ok(_) => Ok(true),
            Err(error) if has_code(&error, sqlstate::IN_FAILED_TRANSACTION) => Ok(false),
            Err(error) => Err(store_error("asking whether the transaction is aborted", error)),
        }
    }

    async fn commit(mut self) -> Result<(), CommitError> {
        match self.guarded(sql::FINISH).await {
            Ok(()) => {
                self.give_back();
                Ok(())
            }
            Err((proven, error)) => Err(self.not_committed(proven, error).await),
        }
    }

    async fn rollback(self) -> Result<(), Escape> {
        // A statement of a handler that timed out may still run, and must end first.
        tokio::time::timeout(ROLLBACK_PATIENCE, self.roll_back()).await.unwrap_or(Ok(()))
    }
}
