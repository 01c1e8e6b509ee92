//! What `dispatch` answers when the message was not processed, and what that means.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::failure::Failure;
use crate::message_id::MessageId;
use crate::permanent::is_marked_permanent;
use crate::store::{Escape, Fault};

/// An envelope that no retry can mend: which field, and what is wrong with it. Never its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidEnvelope {
    field: &'static str,
    problem: String,
}

impl InvalidEnvelope {
    /// `problem` continues a sentence that begins with the field's name, and quotes no value.
    pub fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self { field, problem: problem.into() }
    }

    /// The field that is wrong: `message id`, `event type`, `payload`, `source`, or a CloudEvents
    /// attribute.
    pub fn field(&self) -> &'static str {
        self.field
    }
}

impl fmt::Display for InvalidEnvelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} {}", self.field, self.problem)
    }
}

impl Error for InvalidEnvelope {}

/// Why a message was not processed.
///
/// Nothing was marked processed and nothing of it is durable, but for the two
/// [kinds](DispatchErrorKind) that say otherwise: `CommitUnknown` and `TransactionEscaped`.
/// [`is_permanent`](Self::is_permanent) tells a transport whether to retry or to dead-letter.
///
/// `{}` is one line without the cause; `{:#}` adds the chain of causes, the handler's own error
/// included. Neither shows the payload. The original error is the [`source`](Error::source), and can
/// be downcast. Clones share it: what the copies of one message in a batch are answered.
#[derive(Clone)]
pub struct DispatchError(Arc<Inner>);

struct Inner {
    failure: Failure,
    message_id: Option<MessageId>,
    event_type: String,
}

/// The kinds of failure, as in the outcome table of the guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DispatchErrorKind {
    /// A field of the envelope is missing, blank, nil or too large. Permanent.
    InvalidEnvelope,
    /// The id was processed before as another message. Permanent.
    IdReused,
    /// The consumer has no handler for the event type. Permanent.
    Unhandled,
    /// The payload is not what the event type promises. Permanent.
    Decode,
    /// Another delivery of the message is being processed right now. Transient; no attempt counted.
    InFlight,
    /// A handler, or an extractor of its arguments, returned an error. Transient unless it was
    /// marked permanent; always transient where a serialization failure or deadlock is in it.
    Handler,
    /// A handler panicked. Transient.
    HandlerPanicked,
    /// A handler did not end within its timeout. Transient.
    HandlerTimedOut,
    /// A handler swallowed a failed statement, and the database had aborted the transaction.
    /// Transient.
    TransactionAborted,
    /// A handler ended the transaction itself. Permanent, and to be told loudly: where the database
    /// could not refuse it, what was written before is durable.
    TransactionEscaped,
    /// The database failed. Transient; no attempt counted where it was only busy.
    Store,
    /// The commit was sent and nobody can say whether it is durable. Transient: the redelivery
    /// finds out.
    CommitUnknown,
    /// `Inbox::dispatch` on an inbox of several consumers. Transient, so that nothing is
    /// dead-lettered for it; no attempt counted.
    ConsumerAmbiguous,
    /// The inbox is being stopped and takes no more. Transient; no attempt counted.
    Stopping,
}

impl DispatchError {
    pub(crate) fn new(failure: Failure, message_id: Option<MessageId>, event_type: &str) -> Self {
        let event_type = event_type.to_owned();
        Self(Arc::new(Inner { failure, message_id, event_type }))
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> DispatchErrorKind {
        use DispatchErrorKind as Kind;
        match &self.0.failure {
            Failure::InvalidEnvelope(_) => Kind::InvalidEnvelope,
            Failure::IdReused { .. } => Kind::IdReused,
            Failure::Unhandled { .. } => Kind::Unhandled,
            Failure::Decode { .. } => Kind::Decode,
            Failure::InFlight { .. } => Kind::InFlight,
            Failure::Handler { .. } => Kind::Handler,
            Failure::HandlerPanicked { .. } => Kind::HandlerPanicked,
            Failure::HandlerTimedOut { .. } => Kind::HandlerTimedOut,
            Failure::TransactionAborted { .. } => Kind::TransactionAborted,
            Failure::TransactionEscaped { .. } => Kind::TransactionEscaped,
            Failure::Store(_) | Failure::DeadlineExceeded { .. } => Kind::Store,
            Failure::CommitUnknown { .. } => Kind::CommitUnknown,
            Failure::ConsumerAmbiguous { .. } => Kind::ConsumerAmbiguous,
            Failure::Stopping => Kind::Stopping,
        }
    }

    /// Whether retrying cannot help, so that a transport dead-letters at once.
    pub fn is_permanent(&self) -> bool {
        use DispatchErrorKind as Kind;
        match (self.kind(), &self.0.failure) {
            (_, Failure::Handler { error, conflicted, .. }) => {
                !conflicted && is_marked_permanent(error.as_ref())
            }
            (Kind::InvalidEnvelope | Kind::IdReused | Kind::Unhandled | Kind::Decode, _) => true,
            (Kind::TransactionEscaped, _) => true,
            _ => false,
        }
    }

    /// Whether the message should be delivered again: the opposite of permanent.
    pub fn is_transient(&self) -> bool {
        !self.is_permanent()
    }

    /// Whether this delivery counts towards a limit of attempts. It does not where the message had
    /// no chance: its twin was in flight, the database was busy, the inbox was stopping.
    pub fn counts_attempt(&self) -> bool {
        match &self.0.failure {
            Failure::InFlight { .. } | Failure::ConsumerAmbiguous { .. } | Failure::Stopping => {
                false
            }
            Failure::Store(error) => error.fault() != Fault::Busy,
            Failure::DeadlineExceeded { ran, .. } => *ran,
            _ => true,
        }
    }

    /// The handler that failed, where one did and it is certain which.
    pub fn handler(&self) -> Option<&'static str> {
        match &self.0.failure {
            Failure::Handler { handler, .. }
            | Failure::HandlerPanicked { handler, .. }
            | Failure::HandlerTimedOut { handler, .. }
            | Failure::Decode { handler, .. } => Some(handler),
            Failure::TransactionAborted { handler } => *handler,
            Failure::TransactionEscaped { handler, .. } => *handler,
            _ => None,
        }
    }

    /// The message's id, where it has a valid one.
    pub fn message_id(&self) -> Option<MessageId> {
        self.0.message_id
    }

    /// The message's event type, as it arrived.
    pub fn event_type(&self) -> &str {
        &self.0.event_type
    }

    /// How a handler ended the transaction, for [`DispatchErrorKind::TransactionEscaped`].
    pub fn escape(&self) -> Option<Escape> {
        match self.0.failure {
            Failure::TransactionEscaped { escape, .. } => Some(escape),
            _ => None,
        }
    }
}

impl From<InvalidEnvelope> for DispatchError {
    /// For a message that could not even be read into an envelope.
    fn from(error: InvalidEnvelope) -> Self {
        Self::new(Failure::InvalidEnvelope(error), None, "")
    }
}

impl fmt::Display for DispatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.failure.fmt(f)?;
        if !f.alternate() {
            return Ok(());
        }
        let Failure::Handler { error, .. } = &self.0.failure else { return Ok(()) };
        crate::permanent::write_chain(f, error.as_ref())
    }
}

/// Kind, message id, event type and the text of `{:#}`.
impl fmt::Debug for DispatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind())?;
        if let Some(id) = self.0.message_id {
            write!(f, " of {id} ({})", self.0.event_type.escape_debug())?;
        }
        write!(f, ": {self:#}")
    }
}

impl Error for DispatchError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0.failure {
            Failure::InvalidEnvelope(error) => Some(error),
            Failure::Decode { error, .. } => Some(error),
            Failure::Handler { error, .. } => Some(error.as_ref()),
            Failure::Store(error) => Some(error),
            Failure::CommitUnknown { cause } => cause.as_ref().map(|cause| cause as _),
            _ => None,
        }
    }
}
