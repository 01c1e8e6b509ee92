//! [`SqliteUnit`]: one transaction with the dedup row in it, and how it ends.

use std::fmt;

use inbox::{CommitError, Escape, MessageId, Slot, UnitOfWork};
use sqlx::SqliteConnection;

use crate::fault::{GENERIC, failed, may_end_the_transaction, sqlite_code};
use crate::store::find_on;
use crate::writer::Writer;

/// One open transaction that holds a claim.
///
/// Dropped without an end, it closes its connection, and SQLite rolls back.
pub struct SqliteUnit {
    pub(crate) writer: Writer,
    pub(crate) consumer: String,
    pub(crate) message_id: MessageId,
}

impl UnitOfWork for SqliteUnit {
    type Connection = SqliteConnection;
    type Held = ();

    fn connection(&mut self) -> &mut SqliteConnection {
        self.writer.connection()
    }

    async fn commit(mut self, _: &mut Slot<()>) -> Result<(), CommitError> {
        let last_code = self.writer.last_code().await;
        match self.writer.prove().await {
            Ok(()) => self.writer.commit().await,
            Err(error) if is_gone(&error) => {
                let by_sqlite = last_code.is_some_and(may_end_the_transaction);
                let escape = self.how_it_ended(by_sqlite).await;
                Err(escape.map_or(CommitError::Aborted, CommitError::Escaped))
            }
            Err(error) => Err(CommitError::Refused(failed("could not begin to commit", error))),
        }
    }

    async fn rollback(mut self, _: &mut Slot<()>) -> Result<(), Escape> {
        let last_code = self.writer.stop_statements().await;
        match self.writer.prove().await {
            Ok(()) => self.writer.rollback().await,
            Err(error) if is_gone(&error) => {
                // A `begin()` that was cancelled in flight makes sqlx roll back twice, the second
                // time our transaction: it has then counted down to 0. No handler did that.
                let by_sqlx = self.writer.depth() == 0;
                let by_sqlite = last_code.is_some_and(may_end_the_transaction);
                if let Some(escape) = self.how_it_ended(by_sqlx || by_sqlite).await {
                    return Err(escape);
                }
            }
            Err(_) => {} // the connection is closed, which rolls back
        }
        Ok(())
    }
}

impl SqliteUnit {
    /// How the transaction ended that is gone; `None` where it ended without a handler's doing.
    async fn how_it_ended(&mut self, by_itself: bool) -> Option<Escape> {
        if self.writer.refused_a_commit() {
            return Some(Escape::RolledBack);
        }
        // What a handler's BEGIN opened after it is held by nobody: free the lock before answering.
        let _ = self.writer.rollback_whatever_is_open().await;
        let recorded = find_on(self.writer.connection(), &self.consumer, self.message_id).await;
        match recorded {
            Ok(Some(_)) => Some(Escape::Committed),
            _ if by_itself => None,
            _ => Some(Escape::RolledBack),
        }
    }
}

/// Whether [`Writer::prove`] failed because there is no such savepoint. The statement is constant
/// and compiles, so nothing else makes SQLite answer its generic code.
fn is_gone(error: &sqlx::Error) -> bool {
    sqlite_code(error) == Some(GENERIC)
}

impl fmt::Debug for SqliteUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqliteUnit({}, {})", self.consumer, self.message_id)
    }
}
