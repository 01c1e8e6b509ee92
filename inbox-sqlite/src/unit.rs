//! [`SqliteUnit`]: one transaction with the dedup row in it, and how it ends.

use std::fmt;

use inbox::{
    Claim, CommitError, Escape, MessageId, PairAnswer, Slot, Standing, StoreError, UnitOfWork,
};
use sqlx::SqliteConnection;

use crate::claim::{self, Columns, find_on};
use crate::fault::{GENERIC, failed, may_end_the_transaction, sqlite_code};
use crate::writer::Writer;

/// One open transaction that holds a claim, or those of a batch.
///
/// Dropped without an end, it closes its connection, and SQLite rolls back.
pub struct SqliteUnit {
    pub(crate) writer: Writer,
    consumer: &'static str,
    columns: Columns,
    /// The dedup rows in it, and how many of them stay when it goes back to the mark.
    rows: Vec<MessageId>,
    marked: usize,
}

impl SqliteUnit {
    pub(crate) fn new(writer: Writer, consumer: &'static str, columns: Columns) -> Self {
        Self { writer, consumer, columns, rows: Vec::new(), marked: 0 }
    }

    pub(crate) async fn claim(&mut self, claim: Claim<'_>) -> Result<PairAnswer, StoreError> {
        let answer = claim::claim(self.writer.connection(), claim, self.columns).await?;
        if matches!(answer, PairAnswer::Fresh) {
            self.rows.push(claim.message_id);
        }
        Ok(answer)
    }
}

impl UnitOfWork for SqliteUnit {
    type Connection = SqliteConnection;
    type Held = ();

    fn connection(&mut self) -> &mut SqliteConnection {
        self.writer.connection()
    }

    async fn probe(&mut self) -> Result<Standing, StoreError> {
        let last_code = self.writer.last_code().await;
        let probed = self.writer.probe().await;
        self.standing(probed, last_code).await
    }

    async fn mark(&mut self) -> Result<Standing, StoreError> {
        let last_code = self.writer.last_code().await;
        let marked = self.writer.mark().await;
        let standing = self.standing(marked, last_code).await?;
        if standing == Standing::Ours {
            self.marked = self.rows.len();
        }
        Ok(standing)
    }

    async fn claim_more(&mut self, claims: &[Claim<'_>]) -> Result<Vec<PairAnswer>, StoreError> {
        let mut answers = Vec::with_capacity(claims.len());
        for claim in claims {
            answers.push(self.claim(*claim).await?);
        }
        Ok(answers)
    }

    async fn undo(&mut self) -> Result<(), StoreError> {
        let undone = self.writer.undo().await;
        undone.map_err(|error| failed("could not go back to a mark", error))?;
        self.rows.truncate(self.marked);
        Ok(())
    }

    async fn commit(mut self, _: &mut Slot<()>) -> Result<(), CommitError> {
        let last_code = self.writer.last_code().await;
        match self.writer.prove().await {
            Ok(()) => self.writer.commit().await,
            Err(error) if is_gone(&error) => {
                let escape = self.how_an_ok_left_it(last_code).await;
                Err(escape.map_or(CommitError::Aborted, CommitError::Escaped))
            }
            Err(error) => Err(CommitError::Refused(failed("could not begin to commit", error))),
        }
    }

    async fn rollback(mut self, _: &mut Slot<()>) -> Result<(), Escape> {
        let last_code = self.writer.stop_statements().await;
        match self.writer.prove().await {
            Ok(()) => self.writer.rollback().await,
            Err(error) if is_gone(&error) => match self.how_it_ended(last_code).await {
                // As where a handler's timeout comes in a `begin()`: it has not gone on after it.
                None | Some(Escape::BeginGivenUp) => {}
                Some(escape) => return Err(escape),
            },
            Err(_) => {} // the connection is closed, which rolls back
        }
        Ok(())
    }
}

impl SqliteUnit {
    async fn standing(
        &mut self,
        proven: sqlx::Result<()>,
        last_code: Option<i32>,
    ) -> Result<Standing, StoreError> {
        match proven {
            Ok(()) => Ok(Standing::Ours),
            Err(error) if is_gone(&error) => Ok(match self.how_an_ok_left_it(last_code).await {
                Some(escape) => Standing::Escaped(escape),
                None => Standing::Aborted,
            }),
            Err(error) => {
                Err(failed("could not ask whether the transaction is still the same", error))
            }
        }
    }

    /// Whether the transaction, now gone, was rolled back by SQLite and not by a handler: nothing ran
    /// after the failure that makes SQLite do so, or after an interrupt of ours. In a savepoint of
    /// sqlx's the failure is followed by sqlx's attempt to roll back that savepoint, which is gone
    /// too, so that sqlx still counts it.
    fn was_ended_by_sqlite(&self, last_code: Option<i32>) -> bool {
        self.writer.interrupted_a_statement()
            || last_code.is_some_and(may_end_the_transaction)
            || (last_code == Some(GENERIC) && self.writer.depth() > 1)
    }

    /// How the transaction ended that is gone, under a handler that then returned `Ok`; `None` where
    /// nothing can be durable. Where commits are guarded, nothing that it wrote after a `begin()` that was
    /// given up is: what it tried to write was refused, and is told as that.
    async fn how_an_ok_left_it(&mut self, last_code: Option<i32>) -> Option<Escape> {
        let escape = self.how_it_ended(last_code).await;
        escape.filter(|escape| *escape != Escape::BeginGivenUp || !self.writer.guards_commits())
    }

    /// How the transaction ended that is gone; `None` where SQLite rolled it back.
    async fn how_it_ended(&mut self, last_code: Option<i32>) -> Option<Escape> {
        if self.writer.refused_a_commit() {
            return Some(Escape::RolledBack);
        }
        let by_sqlite = self.was_ended_by_sqlite(last_code);
        // A `begin()` that was given up in flight makes sqlx roll back twice, the second time our
        // transaction: it has then counted down to 0.
        let by_sqlx = self.writer.depth() == 0;
        // What a handler's BEGIN opened after it is held by nobody: free the lock before answering.
        let _ = self.writer.rollback_whatever_is_open().await;
        match self.is_durable().await {
            Ok(true) => Some(Escape::Committed),
            _ if by_sqlite => None,
            _ if by_sqlx => Some(Escape::BeginGivenUp),
            Ok(false) => Some(Escape::RolledBack),
            Err(_) => Some(Escape::Committed), // nobody can say
        }
    }

    /// Whether one of the dedup rows is there: they were committed together, or none was.
    async fn is_durable(&mut self) -> Result<bool, StoreError> {
        for row in &self.rows {
            if find_on(self.writer.connection(), self.consumer, *row).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether [`Writer::prove`] failed because there is no such savepoint. The statement is constant
/// and compiles, so nothing else makes SQLite answer its generic code.
fn is_gone(error: &sqlx::Error) -> bool {
    sqlite_code(error) == Some(GENERIC)
}

impl fmt::Debug for SqliteUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteUnit")
            .field("consumer", &self.consumer)
            .field("rows", &self.rows)
            .finish()
    }
}
