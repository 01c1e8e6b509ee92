//! From a NATS message to an envelope.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use async_nats::Message;
use inbox::{CloudEventMode, Envelope, InvalidEnvelope};

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
        let content_type = header(message, "content-type");
        let (mut envelope, problem) = match CloudEventMode::of(content_type.as_deref()) {
            CloudEventMode::Structured => structured(message),
            CloudEventMode::Batch => (unread(message), Some(CloudEventMode::batch_refused())),
            CloudEventMode::Binary => self.binary(message, content_type),
        };
        if let (None, Some(source)) = (envelope.source(), &self.source) {
            envelope = envelope.with_source(source);
        }
        (envelope, problem)
    }

    /// Attributes in headers, or none of CloudEvents at all.
    fn binary(
        &self,
        message: &Message,
        content_type: Option<String>,
    ) -> (Envelope, Option<InvalidEnvelope>) {
        let id = header(message, "nats-msg-id");
        let event_type = (self.event_type)(&message.subject);
        let mut envelope = Envelope::new(id, event_type, message.payload.to_vec());
        if let Some(content_type) = content_type {
            envelope = envelope.with_content_type(content_type);
        }
        let mut problem = None;
        for (name, value) in headers(message) {
            match name.strip_prefix("ce-") {
                Some(attribute) => {
                    let set = percent_decoded(value)
                        .and_then(|value| envelope.set_cloud_event_attribute(attribute, &value));
                    problem = problem.or(set.err());
                }
                None if matches!(name.as_str(), "nats-msg-id" | "content-type") => {}
                None => envelope = envelope.with_header(name, value),
            }
        }
        (envelope, problem)
    }
}

/// Attributes stand percent-encoded in headers, which are ASCII. A `%` that begins no code is itself.
fn percent_decoded(value: &str) -> Result<Cow<'_, str>, InvalidEnvelope> {
    percent_encoding::percent_decode_str(value).decode_utf8().map_err(|_| {
        InvalidEnvelope::new("CloudEvent", "has an attribute whose percent-encoding is not UTF-8")
    })
}

fn structured(message: &Message) -> (Envelope, Option<InvalidEnvelope>) {
    match Envelope::from_cloud_event_json(&message.payload) {
        Ok(mut envelope) => {
            let others = headers(message).filter(|(name, _)| name != "content-type");
            for (name, value) in others {
                envelope = envelope.with_header(name, value);
            }
            (envelope, None)
        }
        Err(problem) => (unread(message), Some(problem)),
    }
}

/// A message of which only the payload and the headers are known.
fn unread(message: &Message) -> Envelope {
    let envelope = Envelope::new(None::<&str>, "", message.payload.to_vec());
    headers(message).fold(envelope, |envelope, (name, value)| envelope.with_header(name, value))
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
