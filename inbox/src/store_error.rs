//! How a store fails: the kinds of failure, and a failure with its code and without any value.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

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

/// A failure of the database, with its code and without any value. Clones share its cause.
#[derive(Clone)]
pub struct StoreError {
    fault: Fault,
    message: String,
    code: Option<String>,
    constraint: Option<String>,
    source: Option<Arc<dyn Error + Send + Sync>>,
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
        self.source = Some(Arc::from(source.into()));
        self
    }

    /// The database did not answer in time.
    pub(crate) fn silent() -> Self {
        Self::new(Fault::Other, "no answer from the database")
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
