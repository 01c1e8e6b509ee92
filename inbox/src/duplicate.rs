//! A pair that is known: a duplicate, or an id that was used for another message.

use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::inbox::{Core, OnIdReuse};
use crate::message_id::MessageId;
use crate::outcome::Outcome;
use crate::registry::ConsumerTable;
use crate::store::{Fingerprint, Recorded};
use crate::telemetry;

/// The answer to a message whose pair was processed before.
pub(crate) fn answer<S>(
    core: &Core<S>,
    consumer: &ConsumerTable,
    (message_id, envelope): (MessageId, &Envelope),
    recorded: Recorded,
) -> Result<Outcome, Failure> {
    let Some(what) = difference(consumer, envelope, &recorded) else {
        return Ok(Outcome::SkippedDuplicate);
    };
    let skip = core.settings.on_id_reuse == OnIdReuse::Skip;
    telemetry::id_reused(consumer.name, message_id, what, &recorded, skip);
    match skip {
        true => Ok(Outcome::SkippedDuplicate),
        false => Err(Failure::IdReused { recorded, what }),
    }
}

/// In what this message differs from the one that was processed under its id.
pub(crate) fn difference(
    consumer: &ConsumerTable,
    envelope: &Envelope,
    recorded: &Recorded,
) -> Option<&'static str> {
    let source = recorded.source.as_deref();
    if recorded.skipped {
        None
    } else if !consumer.is_one_event(&recorded.event_type, envelope.event_type()) {
        Some("event type")
    } else if source.is_some() && source != envelope.source() {
        Some("source")
    } else if recorded.fingerprint.is_some_and(|f| f != Fingerprint::of(envelope.payload())) {
        Some("payload")
    } else {
        None
    }
}
