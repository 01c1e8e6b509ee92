//! From a NATS message to an envelope.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use async_nats::Message;
use inbox::{Envelope, InvalidEnvelope};

/// What the application said of messages that are no CloudEvents.
#[derive(Clone)]
pub(crate) struct Reading {
    pub(crate) source: Option<String>,
    pub(crate) event_type: EventType,
}

/// The event type of a subject.
pub(crate) type EventType = Arc<dyn Fn(&str) -> String + Send + Sync>;

impl Default for Reading {
    fn default() -> Self {
        Self { source: None, event_type: Arc::new(str::to_owned) }
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("source", &self.source).finish_non_exhaustive()
    }
}

impl Reading {
    /// The envelope, and why the message could not be read into it.
    pub(crate) fn read(&self, message: &Message) -> (Envelope, Option<InvalidEnvelope>) {
        let event_type = (self.event_type)(&message.subject);
        let id = header(message, "nats-msg-id");
        let mut plain = Envelope::new(id, event_type, message.payload.to_vec());
        if let Some(content_type) = header(message, "content-type") {
            plain = plain.with_content_type(content_type);
        }
        let others = headers(message).filter(|(name, _)| name != "content-type");
        let others = others.map(|(name, value)| (name, value.to_owned()));
        let (mut envelope, problem) = plain.read_cloud_event(others, take);
        if let (None, Some(source)) = (envelope.source(), &self.source) {
            envelope = envelope.with_source(source);
        }
        (envelope, problem)
    }
}

/// A header that has a place of its own in the envelope.
fn take(envelope: &mut Envelope, name: &str, value: &str) -> Option<Result<(), InvalidEnvelope>> {
    if name == "nats-msg-id" {
        return Some(Ok(())); // read already
    }
    let attribute = name.strip_prefix("ce-")?;
    let decoded = percent_decoded(value);
    Some(decoded.and_then(|value| envelope.set_cloud_event_attribute(attribute, &value)))
}

/// Attributes stand percent-encoded in headers, which are ASCII. A `%` that begins no code is itself.
fn percent_decoded(value: &str) -> Result<Cow<'_, str>, InvalidEnvelope> {
    percent_encoding::percent_decode_str(value).decode_utf8().map_err(|_| {
        InvalidEnvelope::new("CloudEvent", "has an attribute whose percent-encoding is not UTF-8")
    })
}

/// All headers, in lower case and in the order of their names: the client keeps them in a map that has
/// another order each time.
fn headers(message: &Message) -> impl Iterator<Item = (String, &str)> {
    let all = message.headers.iter().flat_map(|headers| headers.iter());
    let all = all.flat_map(|(name, values)| {
        let name: &str = name.as_ref();
        values.iter().map(move |value| (name.to_ascii_lowercase(), value.as_str()))
    });
    let mut all: Vec<_> = all.collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b)); // stable: several values of one name keep their order
    all.into_iter()
}

fn header(message: &Message, name: &str) -> Option<String> {
    headers(message).find(|(known, _)| known == name).map(|(_, value)| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_percent_decoded_once() {
        for (value, expected) in [
            ("evt_17", "evt_17"),
            ("Euro%20%E2%82%AC%20%f0%9f%98%80", "Euro \u{20ac} \u{1f600}"),
            ("100%", "100%"),
            ("%2", "%2"),
            ("%zz%2525", "%zz%25"),
            ("%+1", "%+1"),
        ] {
            assert_eq!(percent_decoded(value).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_utf_8_is_refused_and_not_quoted() {
        let refused = percent_decoded("secret%C0%A0").unwrap_err();
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }
}
