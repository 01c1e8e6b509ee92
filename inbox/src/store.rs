//! The store SPI: everything a database has to do for the inbox.
//!
//! A store knows one thing, the unit of work that holds the dedup row and the handlers' writes; it
//! knows no registry and runs no handler. The dispatcher knows no table. A new store is proven by
//! the conformance suite in this repository's `tests/`, which needs a dozen lines to run on it.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use uuid::Uuid;

use crate::envelope::Envelope;
use crate::message_id::MessageId;

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
}

impl Recorded {
    /// A row with what every store keeps.
    pub fn new(event_type: impl Into<String>, age: Duration) -> Self {
        Self { event_type: event_type.into(), source: None, fingerprint: None, age }
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

/// The kinds of database failure between which the dispatcher distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No connection, or no lock on the database, was to be had in time: nothing has run, so the
    /// delivery is not counted as an attempt.
    Busy,
    /// A serialization failure or a deadlock: a fresh transaction may succeed at once.
    Serialization,
    /// Everything else, lost connections among it.
    Other,
}

/// A failure of the database, with its code and without any value.
pub struct StoreError {
    fault: Fault,
    message: String,
    code: Option<String>,
    constraint: Option<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// A failure in words: what the store was doing and what happened. No value from a payload or
    /// a row, and no connection string, may stand in it.
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into(), code: None, constraint: None, source: None }
    }

    /// The database's code, such as a SQLSTATE.
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// The constraint that was violated.
    pub fn with_constraint(mut self, constraint: impl Into<String>) -> Self {
        self.constraint = Some(constraint.into());
        self
    }

    /// What caused it. Most drivers' errors are no good sources: their texts quote rows and
    /// connection strings, and whoever prints the chain prints them.
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same where handlers have run: busy or not, the delivery counts as an attempt.
    pub(crate) fn after_a_run(mut self) -> Self {
        if self.fault == Fault::Busy {
            self.fault = Fault::Other;
        }
        self
    }

    /// What kind of failure it is.
    pub fn fault(&self) -> Fault {
        self.fault
    }

    /// The database's code, such as a SQLSTATE.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// The constraint that was violated.
    pub fn constraint(&self) -> Option<&str> {
        self.constraint.as_deref()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match (&self.code, &self.constraint) {
            (Some(code), Some(constraint)) => write!(f, " ({code}, constraint `{constraint}`)"),
            (Some(code), None) => write!(f, " ({code})"),
            _ => Ok(()),
        }
    }
}

/// Without the driver's error, whose `{:?}` shows PostgreSQL's DETAIL and with it rows.
impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreError({:?}: {self})", self.fault)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// How the transaction of a unit of work stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is the one that was opened, and alive.
    Ours,
    /// A failed statement has aborted it, or made the database roll it back; nothing of it is durable.
    Aborted,
    /// It was ended.
    Escaped(Escape),
}

/// Why a commit was not made, or may not have been.
#[derive(Debug)]
pub enum CommitError {
    /// A handler swallowed a failed statement and the database had aborted the transaction.
    Aborted,
    /// A handler had ended the transaction.
    Escaped(Escape),
    /// The database refused, and nothing was committed: a deferred constraint, for example.
    Refused(StoreError),
    /// The commit was sent and no answer came back: it may be durable or not.
    Unknown(StoreError),
}

/// What a handler left durable that ended the transaction it was lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// A COMMIT went through (or nobody can say): the dedup row and what was written before it are
    /// durable, and a redelivery is skipped.
    Committed,
    /// A ROLLBACK, or a COMMIT that the database refused: no dedup row is there, and nothing that was
    /// written before.
    RolledBack,
    /// A `begin()` failed, or was given up before the database had answered (a timeout around it), and
    /// the driver then rolled back the whole transaction: no dedup row is there, and nothing that was
    /// written before.
    BeginGivenUp,
}

impl fmt::Display for Escape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Escape::Committed => {
                "by a COMMIT; the dedup row and what was written before it are durable"
            }
            Escape::RolledBack => {
                "by a ROLLBACK, or a COMMIT that the database refused; nothing that was written before it \
                 is durable, and what was written after it may be"
            }
            Escape::BeginGivenUp => {
                "by going on after a `begin()` that failed or was given up, for which the driver rolls \
                 back everything; nothing that was written before it is durable, and what was written \
                 after it may be"
            }
        })
    }
}
