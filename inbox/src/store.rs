//! The store SPI: everything a database has to do for the inbox.
//!
//! A store knows one thing, the unit of work that holds the dedup row and the handlers' writes; it
//! knows no registry and runs no handler. The dispatcher knows no table. A new store is proven by
//! the conformance suite in this repository's `tests/`, which needs a dozen lines to run on it.

use std::any::Any;
use std::error::Error;
use std::future::Future;
use std::time::Duration;

use uuid::Uuid;

use crate::batch_claim::{BatchClaim, ClaimedBatch, PairAnswer};
use crate::envelope::Envelope;
use crate::message_id::MessageId;

pub use crate::store_error::{CommitError, Escape, Fault, Standing, StoreError};

/// A database that keeps the inbox.
///
/// Every method may be dropped at any await. A store must then leave no connection behind that
/// still carries an open transaction: a later message on it would commit this one's dedup row.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no store for an inbox",
    note = "give the inbox a store before `build()`: `.store(SqliteInboxStore::open(\"inbox.db\").await?)`"
)]
pub trait InboxStore: Send + Sync + 'static {
    /// The connection that handlers write through.
    type Connection: Any + Send;

    /// One open transaction that holds a claim.
    type Unit: UnitOfWork<Connection = Self::Connection, Held = Self::Held>;

    /// What a [`Worker`](crate::Worker) holds between two messages: a connection, where that saves
    /// round trips; `()` in other stores.
    type Held: Send + 'static;

    /// What the store is called in messages, for example `SQLite`.
    const NAME: &'static str;

    /// How many messages one transaction may claim. With 1, the default, every message of a batch is
    /// dispatched apart, and nothing else here has to be written for batches. A batch that is larger is
    /// split.
    const BATCH_LIMIT: usize = 1;

    /// Whether the database runs in this process and has one writer at a time. Batches can then not
    /// deadlock, and a mark costs no round trip: each message of a batch is claimed after a mark of its
    /// own, right before its handlers.
    const EMBEDDED: bool = false;

    /// Proves that the schema is there and current and that no setting endangers the promise.
    /// Answers everything that is wrong at once, each with its remedy.
    fn check(&self) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// Opens a transaction and inserts the dedup row **first**, so that the primary key guards the
    /// handlers: the loser of a race never starts them. The clock is the database's. Answers
    /// [`Claimed::Duplicate`] or [`Claimed::InFlight`] with no transaction left open.
    ///
    /// A duplicate is a value and not an error: it leaves no error in the server's log.
    ///
    /// What the slot holds is used first; where it turns out dead, it is replaced.
    fn claim(
        &self,
        claim: Claim<'_>,
        slot: &mut Slot<Self::Held>,
    ) -> impl Future<Output = Result<Claimed<Self::Unit>, StoreError>> + Send;

    /// Opens one transaction for many messages and claims them as [`claim`](Self::claim) does, without
    /// ever waiting for a twin. The rows are inserted in the order of their keys, so that two batches
    /// cannot deadlock over them.
    fn open_batch(
        &self,
        batch: BatchClaim<'_>,
        slot: &mut Slot<Self::Held>,
    ) -> impl Future<Output = Result<ClaimedBatch<Self::Unit>, StoreError>> + Send {
        let _ = (batch, slot);
        std::future::ready(Err(no_batches()))
    }

    /// Looks a pair up without claiming it.
    fn find(
        &self,
        consumer: &str,
        message_id: MessageId,
    ) -> impl Future<Output = Result<Option<Recorded>, StoreError>> + Send;

    /// Recognises this database's own failures in an error that a handler returned. `error` is one
    /// link of the source chain; the dispatcher walks it. Decided by codes, never by message text.
    fn fault_in(&self, error: &(dyn Error + 'static)) -> Option<Fault>;
}

/// One open transaction with the dedup row in it.
///
/// Dropped without [`commit`](Self::commit) or [`rollback`](Self::rollback), it must roll back and
/// close its connection.
pub trait UnitOfWork: Send + 'static {
    /// The connection that handlers write through.
    type Connection: Any + Send;

    /// What a [`Worker`](crate::Worker) holds between two messages.
    type Held: Send + 'static;

    /// The connection, inside the transaction. A `begin()` on it must open a savepoint.
    fn connection(&mut self) -> &mut Self::Connection;

    /// How the transaction stands after a handler that returned `Ok`, asked before the next one is
    /// started: a later handler may write only into the transaction that was opened. What an abandoned
    /// statement of the earlier handler still owes is waited for.
    fn probe(&mut self) -> impl Future<Output = Result<Standing, StoreError>> + Send;

    /// In a batch: whether the transaction is to be [proven](Self::probe) before the next message's
    /// handlers, because it may otherwise be lost unnoticed: the connection has been idle for long, or
    /// nothing else would keep what they write from being durable by itself.
    fn is_due_for_a_probe(&self) -> bool {
        false
    }

    /// In a batch: the same, and where the transaction is ours, sets the mark to which
    /// [`undo`](Self::undo) goes back. An earlier mark is given up.
    fn mark(&mut self) -> impl Future<Output = Result<Standing, StoreError>> + Send {
        std::future::ready(Err(no_batches()))
    }

    /// In a batch: claims further messages in the open transaction, as
    /// [`InboxStore::open_batch`] does. One answer for each, in their order.
    fn claim_more(
        &mut self,
        claims: &[Claim<'_>],
    ) -> impl Future<Output = Result<Vec<PairAnswer>, StoreError>> + Send {
        let _ = claims;
        std::future::ready(Err(no_batches()))
    }

    /// In a batch: undoes everything since the last [`mark`](Self::mark), claims included, also where a
    /// failed statement has aborted the transaction. Fails where the transaction is not the one that was
    /// opened.
    fn undo(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send {
        std::future::ready(Err(no_batches()))
    }

    /// Proves that the transaction is still the one that was opened and is not aborted, commits,
    /// and answers `Ok` only when the commit is durable. The connection is put into the slot or given
    /// back, proven clean; or closed.
    fn commit(
        self,
        slot: &mut Slot<Self::Held>,
    ) -> impl Future<Output = Result<(), CommitError>> + Send;

    /// Rolls back. The connection is put into the slot or given back, proven clean; or closed, so a
    /// rollback that cannot be sent is no error. What is told is that a handler had ended the
    /// transaction before.
    fn rollback(
        self,
        slot: &mut Slot<Self::Held>,
    ) -> impl Future<Output = Result<(), Escape>> + Send;
}

/// Of a store whose transactions take one message each.
fn no_batches() -> StoreError {
    StoreError::new(Fault::Other, "this store takes no batches")
}

/// The place for what is held between two messages. Dropping what is held gives it back.
#[derive(Debug)]
pub struct Slot<H> {
    held: Option<H>,
    keeps: bool,
}

impl<H> Slot<H> {
    /// A slot that keeps what is put into it: a worker's.
    pub fn keeping() -> Self {
        Self { held: None, keeps: true }
    }

    /// A slot that gives back at once what is put into it: a single dispatch's.
    pub fn passing() -> Self {
        Self { held: None, keeps: false }
    }

    /// Takes out what is held.
    pub fn take(&mut self) -> Option<H> {
        self.held.take()
    }

    /// Puts something in, or gives it back at once.
    pub fn put(&mut self, held: H) {
        self.held = self.keeps.then_some(held);
    }

    /// Gives back what is held.
    pub fn clear(&mut self) {
        self.held = None;
    }

    /// Whether something is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_none()
    }
}

/// What a store claims.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Half of the dedup key.
    pub consumer: &'static str,
    /// The other half.
    pub message_id: MessageId,
    /// The message, for the event type and for what the store keeps besides.
    pub envelope: &'a Envelope,
    /// How long the handlers may run in all: what a bound on an idle transaction must exceed.
    pub run_limit: Duration,
    /// How long the slowest of them may run: what a bound on one statement need not exceed.
    pub statement_limit: Duration,
}

/// The answer to a claim.
#[derive(Debug)]
pub enum Claimed<U> {
    /// The row is new: the handlers may run in this unit of work.
    Fresh(U),
    /// The pair was processed before.
    Duplicate(Recorded),
    /// Another delivery of the pair holds it and has not ended.
    InFlight,
}

/// A dedup row.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// The event type it was processed under.
    pub event_type: String,
    /// The source it came from, where the store keeps it.
    pub source: Option<String>,
    /// The fingerprint of its payload, where the store keeps it.
    pub fingerprint: Option<Fingerprint>,
    /// How long ago it was processed, by the database's clock.
    pub age: Duration,
    /// Whether it was marked processed on purpose, so that nothing is known of the message but its id.
    pub skipped: bool,
}

impl Recorded {
    /// A row with what every store keeps.
    pub fn new(event_type: impl Into<String>, age: Duration) -> Self {
        Self { event_type: event_type.into(), source: None, fingerprint: None, age, skipped: false }
    }
}

/// A payload in 16 bytes, to notice one id with two bodies: a UUIDv5 over the payload's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    /// The fingerprint of `payload`.
    pub fn of(payload: &[u8]) -> Self {
        // Pinned for ever, like the namespace of derived message ids.
        const NAMESPACE: Uuid = Uuid::from_u128(0x2f0d_8f0e_51a4_5c1b_8f7c_60d1_93b2_7e55);
        Self(Uuid::new_v5(&NAMESPACE, payload).into_bytes())
    }
}
