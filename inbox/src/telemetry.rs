//! Every log event of the core, once. None shows a payload.

use std::time::Duration;

use tracing::{debug, error, info, warn};

use crate::dead_letter::DeadLetter;
use crate::error::DispatchError;
use crate::message_id::MessageId;
use crate::outcome::Outcome;
use crate::registration::HandlerRegistration;
use crate::registry::Registry;
use crate::settlement::Settlement;
use crate::store::{Escape, Recorded, StoreError};

/// The one line at start that says what this inbox runs.
pub(crate) fn started(registry: &Registry, store: &str) {
    let handlers = registry.handlers();
    let by_consumer = handlers.chunk_by(|a, b| a.consumer == b.consumer); // they are sorted by it
    let consumers: Vec<_> =
        by_consumer.map(|of_it| format!("{} ({})", of_it[0].consumer, of_it.len())).collect();
    let mut crates: Vec<_> = handlers.iter().map(|handler| handler.crate_name).collect();
    crates.retain(|name| !name.is_empty());
    crates.sort_unstable();
    crates.dedup();
    info!(
        store,
        handlers = handlers.len(),
        "inbox ready; handlers by consumer: {}; from crates: {}",
        consumers.join(", "),
        crates.join(", "),
    );
}

/// Two handlers of one event run in the order of their names, which a renaming would change.
pub(crate) fn order_undeclared(a: &HandlerRegistration, b: &HandlerRegistration) {
    warn!(
        consumer = a.consumer,
        event_type = a.event_type,
        "handlers `{}` ({}) and `{}` ({}) have the same `order`, so they run in the order of their \
         names; set `order = …` on both",
        a.name,
        a.birthplace(),
        b.name,
        b.birthplace(),
    );
}

/// Two consumers that may be one.
pub(crate) fn lookalikes(a: &str, b: &str) {
    warn!(
        "consumers `{a}` and `{b}` differ only in case or in `-` and `_`: they are two consumers, and \
         each applies every message. If they were meant to be one, write one name",
    );
}

/// A known id came with something else in it.
pub(crate) fn id_reused(
    consumer: &str,
    id: MessageId,
    what: &str,
    recorded: &Recorded,
    skip: bool,
) {
    warn!(
        consumer,
        message_id = %id,
        what,
        age_seconds = recorded.age.as_secs(),
        "a message id was used again with another {what}: two messages share one id. It was {}; have \
         the producer send unique ids, or set `ids_unique_per_source`",
        if skip { "skipped as a duplicate" } else { "refused" },
    );
}

/// A serialization failure or deadlock that is retried inside.
pub(crate) fn retried(consumer: &str, id: MessageId, retry: u32, wait: Duration) {
    info!(
        consumer,
        message_id = %id,
        retry,
        wait_ms = wait.as_millis() as u64,
        "a serialization failure or deadlock rolled the run back; it is run again",
    );
}

/// A deadlock or serialization failure of a batch, which is run again in halves.
pub(crate) fn batch_retried(consumer: &str, messages: usize, wait: Duration) {
    info!(
        consumer,
        messages,
        wait_ms = wait.as_millis() as u64,
        "a serialization failure or deadlock rolled a batch back; it is run again in halves",
    );
}

/// A batch had to wait too long for the batches before it.
pub(crate) fn batch_lane_busy(consumer: &str) {
    info!(
        consumer,
        "other batches of the consumer are at work; the messages of this one are dispatched one by one",
    );
}

/// The answer to a batch's COMMIT was lost.
pub(crate) fn batch_commit_unknown(consumer: &str, messages: usize) {
    warn!(
        consumer,
        messages,
        "no answer to the COMMIT of a batch; its messages are claimed anew to find out whether they \
         are durable",
    );
}

/// A handler ended the inbox's transaction.
pub(crate) fn escaped(consumer: &str, id: MessageId, handler: Option<&str>, escape: Escape) {
    let remedy = match escape {
        Escape::BeginGivenUp => "Have it return an error when a `begin()` fails or is given up",
        Escape::Committed | Escape::RolledBack => "Remove the COMMIT or ROLLBACK from it",
    };
    error!(
        consumer,
        message_id = %id,
        handler,
        "a handler ended the inbox's transaction {escape}. {remedy}; the message is answered with a \
         permanent error",
    );
}

/// The answer to a COMMIT was lost.
pub(crate) fn commit_unknown(consumer: &str, id: MessageId) {
    warn!(
        consumer,
        message_id = %id,
        "no answer to a COMMIT; the message is claimed anew to find out whether it is durable",
    );
}

/// What a transport does with a message.
pub(crate) fn settled(
    consumer: &str,
    answer: &Result<Outcome, DispatchError>,
    settlement: Settlement,
    attempts: u32,
) {
    let error = match answer {
        Ok(outcome) => return debug!(consumer, %outcome, "a message is acknowledged"),
        Err(error) => error,
    };
    let message_id = error.message_id().map(tracing::field::display);
    let event_type = error.event_type();
    match settlement {
        Settlement::Retry(wait) => {
            let wait_ms = wait.as_millis() as u64;
            info!(
                consumer,
                message_id, event_type, attempts, wait_ms, "{error:#}; it is delivered again"
            );
        }
        Settlement::Hold(wait) => {
            let wait_ms = wait.as_millis() as u64;
            info!(
                consumer,
                message_id, event_type, attempts, wait_ms, "{error:#}; it is held and tried again"
            );
        }
        Settlement::Ack | Settlement::DeadLetter(_) => {}
    }
}

/// A message was put away.
pub(crate) fn put_away(letter: &DeadLetter) {
    error!(
        consumer = letter.consumer,
        message_id = letter.message_id.map(tracing::field::display),
        dead_letter = %letter.key,
        event_type = letter.envelope.event_type(),
        attempts = letter.attempts,
        reason = %letter.reason,
        "a message was put away as a dead letter: {}. Mend the cause, then replay it or discard it",
        letter.error,
    );
}

/// A dead letter could not be put away.
pub(crate) fn not_put_away(consumer: &str, id: Option<MessageId>, error: &str) {
    error!(
        consumer,
        message_id = id.map(tracing::field::display),
        "a dead letter could not be put away and is kept unsettled meanwhile: {error}",
    );
}

/// The broker did not hear how a message is settled.
pub(crate) fn settlement_failed(consumer: &str, error: &dyn std::error::Error) {
    warn!(
        consumer,
        "a settlement did not reach the broker, so the message is delivered again: {error}"
    );
}

/// The broker did not hear that a message is worked on.
pub(crate) fn keep_failed(consumer: &str, error: &dyn std::error::Error) {
    warn!(consumer, "the broker could not be told that a message is still worked on: {error}");
}

/// The count of a message's attempts could not be read or written.
pub(crate) fn attempts_failed(consumer: &str, error: &StoreError) {
    warn!(consumer, "the count of a message's attempts could not be kept: {error}");
}
