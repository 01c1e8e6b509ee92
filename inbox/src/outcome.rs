//! [`Outcome`]: what `dispatch` answers when all is well.

use std::fmt;

/// What became of a message. Each of them is durable and final: a transport acknowledges on every
/// `Ok`, and on nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "an outcome is what allows the transport to acknowledge the message"]
pub enum Outcome {
    /// The handlers ran; their writes and the dedup row were committed together.
    Processed,
    /// The message was processed before; the handlers were not started.
    SkippedDuplicate,
    /// Nothing here handles this event type and the application chose to ignore such messages
    /// ([`InboxBuilder::ignore_unhandled`](crate::InboxBuilder::ignore_unhandled)). Nothing was
    /// recorded: a handler added later may still see it.
    Ignored,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Processed => "processed",
            Outcome::SkippedDuplicate => "skipped duplicate",
            Outcome::Ignored => "ignored",
        })
    }
}
