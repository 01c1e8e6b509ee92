//! The unit of work: one transaction on one connection that it owns.
//!
//! Whatever is dropped at whatever await, a connection goes back to the pool only when its
//! transaction ended proven clean; else it is closed, and the server rolls back. A connection that
//! went back with an open transaction would commit this message's dedup row with the next message's.

use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use inbox::{CommitError, Escape, MessageId, Slot, Standing, StoreError, UnitOfWork};
use sqlx::pool::PoolConnection;
use sqlx::{Connection as _, Database, Executor, PgConnection, Postgres, SqlSafeStr as _};
use sqlx_core::transaction::TransactionManager;

use crate::error::{commit_error, ends_the_session, has_code, is_lost, sqlstate, store_error};
use crate::sql::{self, Statements};

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
    /// Opens a transaction at sqlx's depth 1, so that a handler's own `begin()` is a savepoint.
    pub(crate) async fn open(connection: PoolConnection<Postgres>) -> Result<Self, StoreError> {
        let mut lease = Self { connection, clean: false };
        let begun = Manager::begin(lease.connection(), Some(sql::BEGIN.into_sql_str()));
        begun.await.map_err(|error| store_error("opening a transaction", error))?;
        Ok(lease)
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    /// Ends a transaction in which no handler ran.
    pub(crate) async fn end(mut self, slot: &mut Slot<PgHeld>) -> Result<(), StoreError> {
        let ended = self.connection().execute(sql::ROLLBACK_AND_CHAIN).await;
        ended.map_err(|error| store_error("ending a transaction", error))?;
        self.rest(slot);
        Ok(())
    }

    /// Puts the connection, with its chained transaction, into the slot; unless a handler left a
    /// savepoint open behind sqlx's back (by `mem::forget`): its count of open savepoints would be
    /// wrong for ever, and it is closed.
    fn rest(mut self, slot: &mut Slot<PgHeld>) {
        if Manager::get_transaction_depth(self.connection()) == 1 {
            slot.put(PgHeld(Some(self)));
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.clean {
            self.connection.close_on_drop();
        }
    }
}

/// A connection with a transaction open in which nothing has happened: what a worker holds between
/// two messages. Dropped, it goes back to its pool; sqlx's ROLLBACK for the empty transaction is queued
/// here, and sent by the pool before anyone else gets the connection.
#[derive(Debug)]
pub struct PgHeld(Option<Lease>);

impl PgHeld {
    fn take(mut self) -> Option<Lease> {
        self.0.take()
    }
}

impl Drop for PgHeld {
    fn drop(&mut self) {
        if let Some(mut lease) = self.0.take() {
            Manager::start_rollback(&mut lease.connection);
            lease.clean = !lease.connection.is_in_transaction();
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
    pub(crate) statements: Arc<Statements>,
    pub(crate) consumer: &'static str,
    pub(crate) message_id: MessageId,
}

impl PgUnit {
    pub(crate) async fn open(
        connection: PoolConnection<Postgres>,
        row: Row,
    ) -> Result<Self, StoreError> {
        Ok(Self { lease: Lease::open(connection).await?, row })
    }

    /// Takes up the transaction that the last message's COMMIT AND CHAIN has opened.
    pub(crate) fn resume(held: PgHeld, row: Row) -> Option<Self> {
        held.take().map(|lease| Self { lease, row })
    }

    /// Ends a transaction in which no handler ran.
    pub(crate) async fn close(self, slot: &mut Slot<PgHeld>) -> Result<(), StoreError> {
        self.lease.end(slot).await
    }

    /// Runs a query that begins with the proof. On failure the flag tells whether the proof had passed.
    async fn guarded(
        &mut self,
        query: fn(&Statements) -> &sql::Text,
    ) -> Result<(), (bool, sqlx::Error)> {
        self.settle().await.map_err(|error| (false, error))?;
        let query = sqlx::raw_sql(sql::safe(query(&self.row.statements)));
        let mut answers = self.lease.connection().fetch_many(query);
        let mut proven = false;
        loop {
            match answers.try_next().await {
                Ok(Some(_)) => proven = true, // the first answer is the proof's
                Ok(None) => return Ok(()),
                Err(error) => return Err((proven, error)),
            }
        }
    }

    /// Reads the answers that are still owed to statements which a handler gave up (a timeout around a
    /// query). sqlx would report their failure as that of the next query, without sending it: a COMMIT
    /// would seem refused that was never asked for. Costs nothing where none is owed.
    async fn settle(&mut self) -> Result<(), sqlx::Error> {
        while let Err(error) = self.lease.connection().flush().await {
            if ends_the_session(&error) {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Whether sqlx itself has rolled the transaction back, as it does where a `begin()` fails or is given
    /// up: it has then counted down to 0. A handler's own SQL leaves that count as it is.
    fn was_ended_by_sqlx(&mut self) -> bool {
        Manager::get_transaction_depth(self.lease.connection()) == 0
    }

    /// The same, and as it seems the last thing that happened: sqlx's ROLLBACK is still to be sent. What the
    /// handler ran after it would be durable by itself. Good enough for a handler that failed: its timeout
    /// may have come in a `begin()`. Not for one that returned `Ok`: it may have begun anew (a transaction
    /// now, and no savepoint), committed that, and dropped a third, whose ROLLBACK looks the same.
    fn was_quietly_ended_by_sqlx(&mut self) -> bool {
        self.was_ended_by_sqlx() && self.lease.connection().should_flush()
    }

    /// Puts the connection into the slot; see [`Lease::rest`].
    fn rest(self, slot: &mut Slot<PgHeld>) {
        self.lease.rest(slot);
    }

    /// The same after the server ended the transaction by itself, as it does when a COMMIT fails.
    async fn rest_ended(mut self, slot: &mut Slot<PgHeld>) {
        let begun = self.lease.connection().execute(sql::BEGIN).await;
        if begun.is_ok() {
            self.rest(slot);
        }
    }

    /// The same after a failed statement had aborted the transaction.
    async fn rest_aborted(mut self, slot: &mut Slot<PgHeld>) {
        let ended = self.lease.connection().execute(sql::ROLLBACK_AND_CHAIN).await;
        if ended.is_ok() {
            self.rest(slot);
        }
    }

    /// What a handler that ended the transaction left behind. The connection is to be closed afterwards.
    async fn escape(&mut self) -> Escape {
        let by_sqlx = self.was_ended_by_sqlx();
        let Row { statements, consumer, message_id } = self.row.clone();
        let connection = self.lease.connection();
        // Its answer tells nothing: there may be no transaction to end.
        let _ = connection.execute(sqlx::raw_sql(sql::START_OVER)).await;
        let found = sqlx::query(sql::safe(&statements.find))
            .bind(consumer)
            .bind(message_id.as_uuid())
            .persistent(false)
            .fetch_optional(connection)
            .await;
        match found {
            Ok(None) if by_sqlx => Escape::BeginGivenUp,
            Ok(None) => Escape::RolledBack,
            Ok(Some(_)) | Err(_) => Escape::Committed,
        }
    }

    async fn roll_back(mut self, slot: &mut Slot<PgHeld>) -> Result<(), Escape> {
        if self.was_quietly_ended_by_sqlx() {
            let _ = self.settle().await; // sends it; the connection is closed
            return Ok(());
        }
        match self.guarded(|statements| &statements.rollback).await {
            Ok(()) => self.rest(slot),
            Err((_, error)) if has_code(&error, sqlstate::NOT_OURS) => {
                return Err(self.escape().await);
            }
            Err((_, error)) if has_code(&error, sqlstate::IN_FAILED_TRANSACTION) => {
                self.rest_aborted(slot).await;
            }
            Err(_) => {} // the connection is closed, and the server rolls back
        }
        Ok(())
    }

    /// Why `finish` failed; `proven` tells whether the proof had passed.
    async fn not_committed(
        mut self,
        (proven, error): (bool, sqlx::Error),
        slot: &mut Slot<PgHeld>,
    ) -> CommitError {
        if !proven && has_code(&error, sqlstate::NOT_OURS) {
            return CommitError::Escaped(self.escape().await);
        }
        if !proven && has_code(&error, sqlstate::IN_FAILED_TRANSACTION) {
            self.rest_aborted(slot).await;
            return CommitError::Aborted;
        }
        let told_by_server = !is_lost(&error);
        let session_ended = ends_the_session(&error);
        let told = commit_error(error);
        if !told_by_server || (session_ended && proven) {
            return CommitError::Unknown(told);
        }
        // Only a COMMIT that failed has ended the transaction. Whatever failed before it, the
        // transaction may be open, and the connection is closed.
        if proven {
            self.rest_ended(slot).await;
        }
        CommitError::Refused(told)
    }
}

impl UnitOfWork for PgUnit {
    type Connection = PgConnection;
    type Held = PgHeld;

    fn connection(&mut self) -> &mut PgConnection {
        self.lease.connection()
    }

    async fn probe(&mut self) -> Result<Standing, StoreError> {
        match self.guarded(|statements| &statements.probe).await {
            Ok(()) => Ok(Standing::Ours),
            Err((_, error)) if has_code(&error, sqlstate::NOT_OURS) => {
                Ok(Standing::Escaped(self.escape().await))
            }
            Err((_, error)) if has_code(&error, sqlstate::IN_FAILED_TRANSACTION) => {
                Ok(Standing::Aborted)
            }
            Err((_, error)) => Err(store_error("asking whether the transaction is alive", error)),
        }
    }

    async fn commit(mut self, slot: &mut Slot<PgHeld>) -> Result<(), CommitError> {
        match self.guarded(|statements| &statements.finish).await {
            Ok(()) => {
                self.rest(slot);
                Ok(())
            }
            Err(failure) => Err(self.not_committed(failure, slot).await),
        }
    }

    async fn rollback(self, slot: &mut Slot<PgHeld>) -> Result<(), Escape> {
        // A statement of a handler that timed out may still run, and must end first.
        tokio::time::timeout(ROLLBACK_PATIENCE, self.roll_back(slot)).await.unwrap_or(Ok(()))
    }
}
