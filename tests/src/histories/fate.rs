//! What the contract's table says of a message, by how its handlers end.

use crate::command::{End, Then};
use crate::harness::Harness;

/// What a delivery comes to when nothing else goes wrong. Handlers are named by their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Processed,
    /// Rolled back, and to be delivered again; blames this handler.
    Transient(Option<usize>),
    /// Rolled back for good.
    Permanent(usize),
    /// This handler's COMMIT went through: what was written until then is durable.
    Escaped(usize),
}

impl Fate {
    /// Whether a permanent answer is deserved, and who deserves it.
    pub(super) fn guilty(self) -> Option<usize> {
        match self {
            Fate::Permanent(handler) | Fate::Escaped(handler) => Some(handler),
            Fate::Processed | Fate::Transient(_) => None,
        }
    }
}

/// The first handler that does not end well decides.
pub(super) fn fate<H: Harness>(ends: &[End]) -> Fate {
    let first = ends.iter().enumerate().find_map(|(handler, end)| of_one::<H>(handler, end));
    let defers = ends.iter().any(|end| matches!(end, End::DeferredViolation));
    first.unwrap_or(if defers { Fate::Transient(None) } else { Fate::Processed })
}

/// `None` where the next handler is started.
fn of_one<H: Harness>(handler: usize, end: &End) -> Option<Fate> {
    // Nothing that a handler writes after its begin was given up can become durable.
    let confines_all = H::FEATURES.refuses_commit && !H::FEATURES.aborts_on_failed_statement;
    Some(match end {
        End::Ok | End::ConfineFailedStatement | End::SeeOwnDedupRow => return None,
        End::LeakSavepoint(Then::Ok) | End::DeferredViolation => return None,
        End::SwallowFailedStatement if !H::FEATURES.aborts_on_failed_statement => return None,
        End::Permanent | End::PermanentBehindLayers => Fate::Permanent(handler),
        End::Escape(escape, _) if escape.goes_through::<H>() => Fate::Escaped(handler),
        End::Escape(..) | End::GiveUpBeginAndWrite => Fate::Permanent(handler),
        End::GiveUpBegin if !confines_all => Fate::Permanent(handler),
        End::GiveUpBegin
        | End::SwallowFailedStatement
        | End::Error
        | End::Panic
        | End::PanicWithoutText
        | End::Hang
        | End::SerializationFailure
        | End::PermanentSerializationFailure
        | End::UniqueViolation
        | End::TakeConnectionTwice
        | End::LoseConnection
        | End::LeakSavepoint(_)
        | End::Wait(_) => Fate::Transient(Some(handler)),
    })
}
