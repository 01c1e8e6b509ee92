//! A connection with a transaction on it, at work or between two messages.
//!
//! Whatever is dropped at whatever await, a connection goes back to the pool only when its
//! transaction ended proven clean; else it is closed, and the server rolls back. A connection that
//! went back with an open transaction would commit this message's dedup row with the next message's.

use inbox::{Slot, StoreError};
use sqlx::pool::PoolConnection;
use sqlx::{Connection as _, Database, Executor, PgConnection, Postgres, SqlSafeStr as _};
use sqlx_core::transaction::TransactionManager;

use crate::error::store_error;
use crate::sql::Frame;

pub(crate) type Manager = <Postgres as Database>::TransactionManager;

/// A connection that is closed when dropped, unless it was declared clean.
#[derive(Debug)]
pub(crate) struct Lease {
    connection: PoolConnection<Postgres>,
    clean: bool,
}

impl Lease {
    /// Opens a transaction at sqlx's depth 1, so that a handler's own `begin()` is a savepoint.
    pub(crate) async fn open(
        connection: PoolConnection<Postgres>,
        begin: &'static str,
    ) -> Result<Self, StoreError> {
        let mut lease = Self { connection, clean: false };
        let begun = Manager::begin(lease.connection(), Some(begin.into_sql_str()));
        begun.await.map_err(|error| store_error("opening a transaction", error))?;
        Ok(lease)
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    /// Ends a transaction in which no handler ran.
    pub(crate) async fn end(
        mut self,
        abandon: &'static str,
        slot: &mut Slot<PgHeld>,
    ) -> Result<(), StoreError> {
        let ended = self.connection().execute(abandon).await;
        ended.map_err(|error| store_error("ending a transaction", error))?;
        self.rest(slot);
        Ok(())
    }

    /// Puts the connection, with its chained transaction, into the slot; unless a handler left a
    /// savepoint open behind sqlx's back (by `mem::forget`): its count of open savepoints would be
    /// wrong for ever, and it is closed.
    pub(crate) fn rest(mut self, slot: &mut Slot<PgHeld>) {
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
    /// Takes up the transaction that the last COMMIT AND CHAIN has opened.
    pub(crate) async fn resume(mut self, frame: &Frame) -> Option<Lease> {
        let mut lease = self.0.take()?;
        if let Some(resume) = frame.resume {
            lease.connection().execute(resume).await.ok()?;
        }
        Some(lease)
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
