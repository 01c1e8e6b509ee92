//! The unit of work: one transaction on one connection that it owns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use inbox::{
    Claim, CommitError, Escape, Fault, PairAnswer, Slot, Standing, StoreError, UnitOfWork,
};
use sqlx::{Connection as _, Executor, PgConnection};
use sqlx_core::transaction::TransactionManager;
use tokio::time::timeout;

use crate::batch::{Ask, Opened};
use crate::batch_sql;
use crate::error::{commit_error, ends_the_session, has_code, is_lost, sqlstate, store_error};
use crate::lease::{Lease, Manager, PgHeld};
use crate::rows::Rows;
use crate::sql::{self, Frame, Statements};

/// How long a rollback waits for its connection before it closes it instead.
const ROLLBACK_PATIENCE: Duration = Duration::from_secs(5);

/// How long a batch may go without a statement of ours: well below every bound on an idle transaction.
const IDLE: Duration = Duration::from_secs(10);

/// An open transaction with a claim in it, or those of a batch.
#[derive(Debug)]
pub struct PgUnit {
    lease: Lease,
    statements: Arc<Statements>,
    rows: Rows,
    /// When the server was last asked how the transaction stands.
    proven: Instant,
}

impl PgUnit {
    pub(crate) fn new(lease: Lease, statements: Arc<Statements>, rows: Rows) -> Self {
        Self { lease, statements, rows, proven: Instant::now() }
    }

    fn frame(&self) -> &Frame {
        self.rows.frame(&self.statements)
    }

    /// Ends a transaction in which no handler ran.
    pub(crate) async fn close(self, slot: &mut Slot<PgHeld>) -> Result<(), StoreError> {
        let abandon = self.frame().abandon;
        self.lease.end(abandon, slot).await
    }

    pub(crate) async fn open_batch(
        &mut self,
        claims: &[Claim<'_>],
        ask: Ask,
    ) -> Result<Opened, StoreError> {
        match &mut self.rows {
            Rows::One(_) => Ok(Opened::Claimed(Vec::new())),
            Rows::Many(many) => {
                many.open(&self.statements, self.lease.connection(), claims, ask).await
            }
        }
    }

    /// Runs a query that begins with the proof. On failure the flag tells whether the proof had passed.
    async fn guarded(&mut self, query: sql::Text) -> Result<(), (bool, sqlx::Error)> {
        self.settle().await.map_err(|error| (false, error))?;
        let query = sqlx::raw_sql(sql::safe(&query));
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

    /// Runs a query that begins with the proof and leaves the transaction open.
    async fn standing(&mut self, query: sql::Text) -> Result<Standing, StoreError> {
        match self.guarded(query).await {
            Ok(()) => {
                self.proven = Instant::now();
                Ok(Standing::Ours)
            }
            Err((_, error)) if has_code(&error, sqlstate::NOT_OURS) => {
                Ok(Standing::Escaped(self.escape().await))
            }
            Err((_, error)) if has_code(&error, sqlstate::IN_FAILED_TRANSACTION) => {
                Ok(Standing::Aborted)
            }
            Err((_, error)) => Err(store_error("asking whether the transaction is alive", error)),
        }
    }

    /// Puts the connection into the slot; see [`Lease::rest`].
    fn rest(self, slot: &mut Slot<PgHeld>) {
        self.lease.rest(slot);
    }

    /// The same after the server ended the transaction by itself, as it does when a COMMIT fails.
    async fn rest_ended(mut self, slot: &mut Slot<PgHeld>) {
        let begin = self.frame().begin_anew;
        let begun = self.lease.connection().execute(begin).await;
        if begun.is_ok() {
            self.rest(slot);
        }
    }

    /// The same after a failed statement had aborted the transaction.
    async fn rest_aborted(mut self, slot: &mut Slot<PgHeld>) {
        let abandon = self.frame().abandon;
        let ended = self.lease.connection().execute(abandon).await;
        if ended.is_ok() {
            self.rest(slot);
        }
    }

    /// What a handler that ended the transaction left behind. The connection is to be closed afterwards.
    async fn escape(&mut self) -> Escape {
        let by_sqlx = self.was_ended_by_sqlx();
        let connection = self.lease.connection();
        // Its answer tells nothing: there may be no transaction to end.
        let _ = connection.execute(sqlx::raw_sql(sql::START_OVER)).await;
        match self.rows.are_durable(&self.statements, connection).await {
            Ok(false) if by_sqlx => Escape::BeginGivenUp,
            Ok(false) => Escape::RolledBack,
            Ok(true) | Err(_) => Escape::Committed,
        }
    }

    async fn roll_back(mut self, slot: &mut Slot<PgHeld>) -> Result<(), Escape> {
        if self.was_quietly_ended_by_sqlx() {
            let _ = self.settle().await; // sends it; the connection is closed
            return Ok(());
        }
        match self.guarded(Arc::clone(&self.frame().rollback)).await {
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
        self.standing(Arc::clone(&self.statements.probe)).await
    }

    /// The server ends a session that is idle in its transaction for as long as one message's handlers
    /// may take, and 30 s: those of a batch may have no statement for longer.
    fn is_due_for_a_probe(&self) -> bool {
        let Rows::Many(many) = &self.rows else { return false };
        !many.has_the_session() || self.proven.elapsed() > IDLE
    }

    async fn mark(&mut self) -> Result<Standing, StoreError> {
        let has_mark = matches!(&self.rows, Rows::Many(many) if many.marked.is_some());
        let Statements { mark, first_mark, .. } = &*self.statements;
        let standing = self.standing(Arc::clone(if has_mark { mark } else { first_mark })).await?;
        if let (Standing::Ours, Rows::Many(many)) = (&standing, &mut self.rows) {
            many.marked = Some(many.ids.len());
        }
        Ok(standing)
    }

    async fn claim_more(&mut self, claims: &[Claim<'_>]) -> Result<Vec<PairAnswer>, StoreError> {
        let Rows::Many(many) = &mut self.rows else { return Ok(Vec::new()) };
        many.claim_more(&self.statements, self.lease.connection(), claims).await
    }

    async fn undo(&mut self) -> Result<(), StoreError> {
        let failed = |error| store_error("undoing a part of a batch", error);
        let gone =
            |why: &str| StoreError::new(Fault::Other, format!("undoing a part of a batch: {why}"));
        if self.was_ended_by_sqlx() {
            return Err(gone("the transaction was rolled back"));
        }
        // A statement of a handler that timed out may still run, and must end first.
        let Ok(settled) = timeout(ROLLBACK_PATIENCE, self.settle()).await else {
            return Err(gone("a statement is still running"));
        };
        settled.map_err(failed)?;
        self.lease.connection().execute(batch_sql::UNDO).await.map_err(failed)?;
        if let Rows::Many(many) = &mut self.rows {
            many.ids.truncate(many.marked.unwrap_or(0));
        }
        Ok(())
    }

    async fn commit(mut self, slot: &mut Slot<PgHeld>) -> Result<(), CommitError> {
        match self.guarded(Arc::clone(&self.frame().finish)).await {
            Ok(()) => {
                self.rest(slot);
                Ok(())
            }
            Err(failure) => Err(self.not_committed(failure, slot).await),
        }
    }

    async fn rollback(self, slot: &mut Slot<PgHeld>) -> Result<(), Escape> {
        // A statement of a handler that timed out may still run, and must end first.
        timeout(ROLLBACK_PATIENCE, self.roll_back(slot)).await.unwrap_or(Ok(()))
    }
}
