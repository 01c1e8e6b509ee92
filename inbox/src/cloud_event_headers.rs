//! CloudEvents 1.0 in the headers of a transport (binary mode): one attribute a header, the data as payload.
//!
//! <https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md>, and the bindings for NATS and AMQP.

use crate::cloud_event_mode::CloudEventMode;
use crate::cloud_events::{check_version, time_of};
use crate::envelope::Envelope;
use crate::error::InvalidEnvelope;

impl Envelope {
    /// For transports: takes one CloudEvents attribute from a header, by its name without the
    /// transport's prefix. `partitionkey` becomes the ordering key, `correlationid` and `causationid` the
    /// lineage, and an attribute without a place of its own a header of its name.
    ///
    /// ```
    /// use inbox::Envelope;
    ///
    /// let mut envelope = Envelope::new(None::<&str>, "", br#"{"sku":"tea"}"#);
    /// for (name, value) in [("id", "17"), ("source", "/shop"), ("type", "stock.received.v1")] {
    ///     envelope.set_cloud_event_attribute(name, value)?;
    /// }
    /// assert_eq!(envelope.event_type(), "stock.received.v1");
    /// # Ok::<(), inbox::InvalidEnvelope>(())
    /// ```
    ///
    /// # Errors
    /// A version that is not 1, or a time that is none. The envelope is left as it was.
    pub fn set_cloud_event_attribute(
        &mut self,
        name: &str,
        value: &str,
    ) -> Result<(), InvalidEnvelope> {
        match name {
            "specversion" => return check_version(value),
            "id" => self.set_id(value),
            "type" => self.set_event_type(value),
            "time" => {
                let time = time_of(value)?;
                self.change(|envelope| envelope.with_occurred_at(time));
            }
            "source" => self.change(|envelope| envelope.with_source(value)),
            "datacontenttype" => self.change(|envelope| envelope.with_content_type(value)),
            "partitionkey" => self.change(|envelope| envelope.with_ordering_key(value)),
            "correlationid" => self.change(|envelope| envelope.with_correlation_id(value)),
            "causationid" => self.change(|envelope| envelope.with_causation_id(value)),
            _ => self.change(|envelope| envelope.with_header(name, value)),
        }
        Ok(())
    }

    /// For transports: reads a message that may be a CloudEvent, of which this is what the transport's own
    /// properties tell. In binary mode `take` is shown each header: it [sets the
    /// attribute](Self::set_cloud_event_attribute) that the header holds, and answers `None` where it is a
    /// header like any other. A message that cannot be read keeps its payload and its headers, and the second
    /// answer says why.
    pub fn read_cloud_event(
        mut self,
        headers: impl IntoIterator<Item = (String, String)>,
        take: impl Fn(&mut Self, &str, &str) -> Option<Result<(), InvalidEnvelope>>,
    ) -> (Self, Option<InvalidEnvelope>) {
        let read = match CloudEventMode::of(self.content_type()) {
            CloudEventMode::Binary => {
                let mut problem = None;
                for (name, value) in headers {
                    match take(&mut self, &name, &value) {
                        Some(taken) => problem = problem.or(taken.err()),
                        None => self = self.with_header(name, value),
                    }
                }
                return (self, problem);
            }
            CloudEventMode::Structured => Self::from_cloud_event_json(self.payload()),
            CloudEventMode::Batch => Err(CloudEventMode::batch_refused()),
        };
        let (envelope, problem) = match read {
            Ok(envelope) => (envelope, None),
            Err(problem) => (self.unread(), Some(problem)),
        };
        let with = |envelope: Self, (name, value)| envelope.with_header(name, value);
        (headers.into_iter().fold(envelope, with), problem)
    }

    /// What is known of a CloudEvent that cannot be read: whatever its own properties say of an id or a type
    /// is not the event's.
    fn unread(&self) -> Self {
        let envelope = Self::new(None::<&str>, "", self.payload());
        envelope.with_content_type(self.content_type().unwrap_or_default())
    }

    fn change(&mut self, change: impl FnOnce(Self) -> Self) {
        let envelope = std::mem::replace(self, Self::new(None::<&str>, "", Vec::new()));
        *self = change(envelope);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attribute_has_its_place() {
        let mut envelope = Envelope::new("broker-17", "subject", "{}");
        for (name, value) in [
            ("specversion", "1.0"),
            ("id", "17"),
            ("type", "stock.received.v1"),
            ("source", "/shop"),
            ("time", "2026-01-02T03:04:05Z"),
            ("datacontenttype", "application/json"),
            ("partitionkey", "tea"),
            ("correlationid", "c"),
            ("causationid", "d"),
            ("traceparent", "00-1"),
        ] {
            envelope.set_cloud_event_attribute(name, value).unwrap();
        }
        assert_eq!(envelope.raw_id().as_deref(), Some("17"));
        assert_eq!(envelope.event_type(), "stock.received.v1");
        assert_eq!(envelope.source(), Some("/shop"));
        assert_eq!(envelope.occurred_at().map(|at| at.year()), Some(2026));
        assert_eq!(envelope.content_type(), Some("application/json"));
        assert_eq!(envelope.ordering_key(), Some("tea"));
        assert_eq!((envelope.correlation_id(), envelope.causation_id()), (Some("c"), Some("d")));
        assert_eq!(envelope.headers().get("traceparent"), Some("00-1"));
        assert_eq!(envelope.headers().iter().count(), 1);
        assert_eq!(envelope.payload(), b"{}");
    }

    #[test]
    fn another_version_and_a_time_that_is_none_are_refused_without_their_values() {
        let mut envelope = Envelope::new("17", "t", "");
        for (name, value) in [("specversion", "0.3-secret"), ("time", "secret")] {
            let refused = envelope.set_cloud_event_attribute(name, value).unwrap_err();
            assert_eq!(refused.field(), name);
            assert!(!refused.to_string().contains("secret"), "{refused}");
        }
        assert_eq!(envelope.raw_id().as_deref(), Some("17"));
    }

    #[test]
    fn a_message_is_read_as_its_content_type_says() {
        let read = |content_type: &str, payload: &str| {
            let plain =
                Envelope::new("broker-17", "subject", payload).with_content_type(content_type);
            let headers = [("x-id", "17"), ("tenant", "a")];
            let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
            plain.read_cloud_event(headers, |envelope, name, value| {
                let attribute = name.strip_prefix("x-")?;
                Some(envelope.set_cloud_event_attribute(attribute, value))
            })
        };
        let (envelope, problem) = read("text/plain", "{}");
        assert!(problem.is_none());
        assert_eq!((envelope.raw_id().as_deref(), envelope.event_type()), (Some("17"), "subject"));
        assert_eq!(envelope.headers().iter().collect::<Vec<_>>(), [("tenant", "a")]);

        let event = r#"{"specversion":"1.0","id":"18","source":"/s","type":"t"}"#;
        let (envelope, problem) = read("application/cloudevents+json", event);
        assert!(problem.is_none());
        assert_eq!((envelope.raw_id().as_deref(), envelope.event_type()), (Some("18"), "t"));
        assert_eq!(envelope.headers().get("tenant"), Some("a"));

        for content_type in ["application/cloudevents+json", "application/cloudevents-batch+json"] {
            let (envelope, problem) = read(content_type, "{");
            assert!(problem.is_some());
            assert_eq!((envelope.raw_id(), envelope.payload()), (None, &b"{"[..]));
            assert_eq!(envelope.headers().get("tenant"), Some("a"));
            assert_eq!(envelope.content_type(), Some(content_type));
        }
    }
}
