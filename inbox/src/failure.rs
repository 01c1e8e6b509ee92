//! What stands inside a [`DispatchError`](crate::DispatchError): the failure, its details and its text.

use std::fmt;
use std::time::Duration;

use crate::decode::DecodeError;
use crate::error::InvalidEnvelope;
use crate::handler::HandlerError;
use crate::permanent::is_marked_permanent;
use crate::store::{Escape, Recorded, StoreError};

/// The failure with its details; each belongs to one [`DispatchErrorKind`](crate::DispatchErrorKind).
#[derive(Debug)]
pub(crate) enum Failure {
    InvalidEnvelope(InvalidEnvelope),
    IdReused {
        recorded: Recorded,
        what: &'static str,
    },
    Unhandled {
        consumer: String,
        known: Vec<&'static str>,
    },
    Decode {
        handler: &'static str,
        error: DecodeError,
    },
    InFlight {
        waited: Duration,
    },
    /// `conflicted`: a serialization failure or deadlock is in it, and a retry may succeed.
    Handler {
        handler: &'static str,
        error: HandlerError,
        conflicted: bool,
    },
    HandlerPanicked {
        handler: &'static str,
        text: String,
    },
    HandlerTimedOut {
        handler: &'static str,
        timeout: Duration,
    },
    TransactionAborted {
        handler: Option<&'static str>,
    },
    TransactionEscaped {
        handler: Option<&'static str>,
        escape: Escape,
    },
    Store(StoreError),
    DeadlineExceeded {
        deadline: Duration,
        ran: bool,
    },
    CommitUnknown {
        cause: Option<StoreError>,
    },
    ConsumerAmbiguous {
        consumers: Vec<&'static str>,
    },
    Stopping,
}

impl Failure {
    /// Whether it was found out before the rollback what an earlier handler had done to the transaction.
    pub(crate) fn tells_of_the_transaction(&self) -> bool {
        matches!(self, Self::TransactionAborted { .. } | Self::TransactionEscaped { .. })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::InvalidEnvelope(error) => write!(f, "invalid envelope: {error}"),
            Failure::IdReused { recorded, what } => write!(
                f,
                "the message id was used before with another {what}: {} s ago it was processed \
                 as `{}`. Two messages share one id; see `ids_unique_per_source` and `on_id_reuse`",
                recorded.age.as_secs(),
                recorded.event_type,
            ),
            Failure::Unhandled { consumer, known } => write!(
                f,
                "consumer `{consumer}` has no handler for this event type; it handles {}",
                known.join(", "),
            ),
            Failure::Decode { handler, error } => {
                write!(f, "the payload cannot be decoded for handler `{handler}`: {error}")
            }
            Failure::InFlight { waited } => {
                f.write_str("another delivery of the message is being processed")?;
                match *waited {
                    Duration::ZERO => Ok(()),
                    waited => write!(f, ", and was still after {waited:?}"),
                }
            }
            Failure::Handler { handler, error, conflicted: false }
                if is_marked_permanent(error.as_ref()) =>
            {
                write!(f, "handler `{handler}` failed, and said that retrying cannot help")
            }
            Failure::Handler { handler, .. } => write!(f, "handler `{handler}` failed"),
            Failure::HandlerPanicked { handler, text } => {
                write!(f, "handler `{handler}` panicked: {text}")
            }
            Failure::HandlerTimedOut { handler, timeout } => {
                write!(f, "handler `{handler}` did not end within its timeout of {timeout:?}")
            }
            Failure::TransactionAborted { handler } => {
                f.write_str(handler.map_or("a handler", |_| "handler"))?;
                if let Some(handler) = handler {
                    write!(f, " `{handler}`")?;
                }
                f.write_str(
                    " went on after a statement had failed, and the database had aborted the \
                     transaction; return the error, or confine the statement to a savepoint",
                )
            }
            Failure::TransactionEscaped { handler: Some(handler), escape } => {
                write!(f, "handler `{handler}` ended the inbox's transaction {escape}")
            }
            Failure::TransactionEscaped { handler: None, escape } => {
                write!(f, "a handler ended the inbox's transaction {escape}")
            }
            Failure::Store(error) => write!(f, "the store failed: {error}"),
            Failure::DeadlineExceeded { deadline, .. } => {
                write!(
                    f,
                    "the store failed: no answer within the dispatch deadline of {deadline:?}"
                )
            }
            Failure::CommitUnknown { .. } => f.write_str(
                "the commit was sent and its outcome is unknown; the redelivery finds out",
            ),
            Failure::ConsumerAmbiguous { consumers } => write!(
                f,
                "this inbox runs several consumers; call `inbox.consumer(name)?.dispatch(…)` with \
                 one of {}",
                consumers.join(", "),
            ),
            Failure::Stopping => f.write_str("the inbox is stopping and takes no more messages"),
        }
    }
}
