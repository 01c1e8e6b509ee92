//! What an operator does with single messages: replay a dead letter, skip a message.

use std::fmt;

use uuid::Uuid;

use crate::attempts::Attempts;
use crate::dead_letter::{DeadLetter, DeadLetters};
use crate::error::{DispatchError, InvalidEnvelope};
use crate::inbox::Consumer;
use crate::message_id::{MessageId, check_text};
use crate::outcome::Outcome;
use crate::settlement::DeadLetterReason;
use crate::store::{InboxStore, StoreError};

impl<S: InboxStore + Attempts + DeadLetters> Consumer<S> {
    /// Dispatches a dead letter of the store's table like any other message, so that what was processed
    /// meanwhile is skipped, and discards the letter when that is `Ok`; not when it is
    /// [`Ignored`](Outcome::Ignored), for want of a handler here.
    ///
    /// # Errors
    /// There is no such letter; the store failed; or the message failed again, and the letter stays: with
    /// the new error and one attempt more, or as it was where the message had no chance.
    pub async fn replay(&self, key: Uuid) -> Result<Outcome, ReplayError> {
        let store = self.store();
        let stored = store.dead_letter(self.name(), key).await.map_err(ReplayError::Store)?;
        let Some(stored) = stored else { return Err(ReplayError::NotFound) };
        let letter = stored.letter;
        match self.dispatch(&letter.envelope).await {
            Ok(Outcome::Ignored) => Ok(Outcome::Ignored), // nobody here has a handler for it
            Ok(outcome) => {
                if let Some(id) = letter.message_id {
                    store.forget(self.name(), id).await.map_err(ReplayError::Store)?;
                }
                store.discard(self.name(), key).await.map_err(ReplayError::Store)?;
                Ok(outcome)
            }
            // It had no chance, so nothing new is known of it.
            Err(error) if !error.counts_attempt() => Err(ReplayError::Dispatch(error)),
            Err(error) => {
                let attempts = letter.attempts.saturating_add(1);
                let reason = match error.is_permanent() {
                    true => DeadLetterReason::Permanent,
                    false => DeadLetterReason::AttemptsExhausted,
                };
                let again = DeadLetter { reason, error: format!("{error:#}"), attempts, ..letter };
                store.put_away(&again).await.map_err(ReplayError::Store)?;
                Err(ReplayError::Dispatch(error))
            }
        }
    }

    /// Marks a message processed on purpose, without running its handlers: redeliveries are skipped from
    /// now on. The reason (1 to 1,024 bytes) is kept in the dedup row. Whether the row was written; a
    /// message that was processed stays as it is.
    ///
    /// # Errors
    /// A reason that is blank or too long, or the store's failure.
    pub async fn skip(&self, message_id: MessageId, reason: &str) -> Result<bool, SkipError> {
        check_text("reason", reason).map_err(SkipError::Reason)?;
        self.store().skip(self.name(), message_id, reason).await.map_err(SkipError::Store)
    }
}

/// Why [`Consumer::replay`] did not process a dead letter.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReplayError {
    /// The consumer has no dead letter of this key; it may have been replayed or discarded meanwhile.
    NotFound,
    /// The store failed. If the message was processed, the next replay skips it and discards the letter.
    Store(StoreError),
    /// The message failed again.
    Dispatch(DispatchError),
}

/// Why [`Consumer::skip`] recorded nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum SkipError {
    /// The reason is blank or too long.
    Reason(InvalidEnvelope),
    /// The store failed.
    Store(StoreError),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("the consumer has no such dead letter"),
            Self::Store(_) => f.write_str("the store failed"),
            Self::Dispatch(_) => f.write_str("the message failed again; its dead letter is kept"),
        }
    }
}

impl fmt::Display for SkipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reason(error) => error.fmt(f),
            Self::Store(_) => f.write_str("the store failed"),
        }
    }
}

impl std::error::Error for ReplayError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotFound => None,
            Self::Store(error) => Some(error),
            Self::Dispatch(error) => Some(error),
        }
    }
}

impl std::error::Error for SkipError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Reason(_) => None,
            Self::Store(error) => Some(error),
        }
    }
}
