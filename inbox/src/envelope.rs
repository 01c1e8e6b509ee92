//! [`Envelope`]: one delivered message, as a transport hands it over.

use std::fmt;

use time::OffsetDateTime;
use uuid::Uuid;

use crate::error::InvalidEnvelope;
use crate::message_id::{MessageId, check_text};
use crate::names::event_type_problem;

/// One delivered message.
///
/// A transport builds it from whatever the broker gives and does not judge it: what is missing,
/// blank or too long is answered by `dispatch` with [`InvalidEnvelope`], so that a bad message is
/// dead-lettered with a reason like any other.
///
/// ```
/// use inbox::Envelope;
///
/// let envelope = Envelope::new("evt_17", "orders.order-placed.v1", br#"{"sku":"tea"}"#)
///     .with_source("https://shop.example/orders")
///     .with_delivery_attempt(2);
/// assert_eq!(envelope.source(), Some("https://shop.example/orders"));
/// ```
#[derive(Clone, Debug)]
pub struct Envelope {
    id: EnvelopeId,
    event_type: String,
    payload: Payload,
    content_type: Option<String>,
    source: Option<String>,
    occurred_at: Option<OffsetDateTime>,
    correlation_id: Option<String>,
    causation_id: Option<String>,
    ordering_key: Option<String>,
    headers: Headers,
    delivery_attempt: Option<u32>,
}

/// A message id as it arrived: text, a [`Uuid`], or nothing (`None`), which `dispatch` refuses.
/// What text means is decided by the inbox; see [`MessageId`].
#[derive(Clone, Debug)]
pub struct EnvelopeId(RawId);

#[derive(Clone, Debug)]
enum RawId {
    Missing,
    Uuid(Uuid),
    Text(String),
}

impl From<&str> for EnvelopeId {
    fn from(text: &str) -> Self {
        Self(RawId::Text(text.to_owned()))
    }
}

impl From<String> for EnvelopeId {
    fn from(text: String) -> Self {
        Self(RawId::Text(text))
    }
}

impl From<Uuid> for EnvelopeId {
    fn from(uuid: Uuid) -> Self {
        Self(RawId::Uuid(uuid))
    }
}

impl From<MessageId> for EnvelopeId {
    fn from(id: MessageId) -> Self {
        Self(RawId::Uuid(id.as_uuid()))
    }
}

impl<T: Into<EnvelopeId>> From<Option<T>> for EnvelopeId {
    fn from(id: Option<T>) -> Self {
        id.map_or(Self(RawId::Missing), Into::into)
    }
}

/// The payload's bytes, which `{:?}` counts and never shows.
#[derive(Clone)]
struct Payload(Vec<u8>);

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// The setters: each sets one optional field of the message.
impl Envelope {
    /// A message with its producer's id, its event type and its payload; everything else is
    /// optional. The content type is JSON unless set.
    pub fn new(
        id: impl Into<EnvelopeId>,
        event_type: impl Into<String>,
        payload: impl Into<Vec<u8>>,
    ) -> Self {
        Self {
            id: id.into(),
            event_type: event_type.into(),
            payload: Payload(payload.into()),
            content_type: None,
            source: None,
            occurred_at: None,
            correlation_id: None,
            causation_id: None,
            ordering_key: None,
            headers: Headers::default(),
            delivery_attempt: None,
        }
    }

    /// The media type of the payload, for example `application/json`.
    pub fn with_content_type(mut self, content_type: impl Into<String>) -> Self {
        self.content_type = Some(content_type.into());
        self
    }

    /// Who published the message (CloudEvents `source`): the scope in which a text id is unique.
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// When the fact happened, by the producer's clock.
    pub fn with_occurred_at(mut self, occurred_at: OffsetDateTime) -> Self {
        self.occurred_at = Some(occurred_at);
        self
    }

    /// The id of the business process this message belongs to.
    pub fn with_correlation_id(mut self, correlation_id: impl Into<String>) -> Self {
        self.correlation_id = Some(correlation_id.into());
        self
    }

    /// The id of the message or command that caused this one.
    pub fn with_causation_id(mut self, causation_id: impl Into<String>) -> Self {
        self.causation_id = Some(causation_id.into());
        self
    }

    /// Messages with one ordering key want to be handled in order (CloudEvents `partitionkey`).
    pub fn with_ordering_key(mut self, ordering_key: impl Into<String>) -> Self {
        self.ordering_key = Some(ordering_key.into());
        self
    }

    /// Adds a header, such as `traceparent`.
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.0.push((name.into(), value.into()));
        self
    }

    /// Which delivery of the message this is, as the broker counts: 1 is the first.
    pub fn with_delivery_attempt(mut self, attempt: u32) -> Self {
        self.delivery_attempt = Some(attempt);
        self
    }
}

/// What a transport finds in headers after the message was begun.
impl Envelope {
    pub(crate) fn set_id(&mut self, id: &str) {
        self.id = id.into();
    }

    pub(crate) fn set_event_type(&mut self, event_type: &str) {
        event_type.clone_into(&mut self.event_type);
    }
}

/// The getters.
impl Envelope {
    /// The event type, as it stands on the wire.
    pub fn event_type(&self) -> &str {
        &self.event_type
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.payload.0
    }

    /// The payload's media type; `None` means JSON.
    pub fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// Who published the message.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// When the fact happened, by the producer's clock.
    pub fn occurred_at(&self) -> Option<OffsetDateTime> {
        self.occurred_at
    }

    /// The id of the business process this message belongs to.
    pub fn correlation_id(&self) -> Option<&str> {
        self.correlation_id.as_deref()
    }

    /// The id of the message or command that caused this one.
    pub fn causation_id(&self) -> Option<&str> {
        self.causation_id.as_deref()
    }

    /// The key within which order matters.
    pub fn ordering_key(&self) -> Option<&str> {
        self.ordering_key.as_deref()
    }

    /// The headers.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Which delivery this is (1 is the first), where the broker counts.
    pub fn delivery_attempt(&self) -> Option<u32> {
        self.delivery_attempt
    }

    /// The message id as it arrived, unjudged, where there is one.
    pub(crate) fn raw_id(&self) -> Option<String> {
        match &self.id.0 {
            RawId::Missing => None,
            RawId::Uuid(uuid) => Some(uuid.to_string()),
            RawId::Text(text) => Some(text.clone()),
        }
    }
}

/// What an inbox demands of an envelope beyond the fixed bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EnvelopeRules {
    pub(crate) payload_limit: usize,
    pub(crate) ids_unique_per_source: bool,
}

impl Envelope {
    /// Checks every field and answers the message id.
    pub(crate) fn validate(&self, rules: EnvelopeRules) -> Result<MessageId, InvalidEnvelope> {
        let id = self.message_id(rules.ids_unique_per_source)?;
        if let Some(problem) = event_type_problem(&self.event_type) {
            return Err(InvalidEnvelope::new("event type", format!("is refused: {problem}")));
        }
        let (size, limit) = (self.payload().len(), rules.payload_limit);
        if size > limit {
            let problem = format!("has {size} bytes, and the limit is {limit}");
            return Err(InvalidEnvelope::new("payload", problem));
        }
        // RFC 3339 has no others, and databases refuse some.
        if self.occurred_at.is_some_and(|at| !(0..=9999).contains(&at.year())) {
            return Err(InvalidEnvelope::new("time", "is not in the years 0 to 9999"));
        }
        for (field, text) in [
            ("content type", &self.content_type),
            ("source", &self.source),
            ("correlation id", &self.correlation_id),
            ("causation id", &self.causation_id),
            ("ordering key", &self.ordering_key),
        ] {
            if let Some(text) = text {
                check_text(field, text)?;
            }
        }
        Ok(id)
    }

    pub(crate) fn message_id(&self, per_source: bool) -> Result<MessageId, InvalidEnvelope> {
        let source = self.source();
        match &self.id.0 {
            RawId::Missing => Err(InvalidEnvelope::new(
                "message id",
                "is missing: without the producer's id a redelivery cannot be told from a new \
                 message",
            )),
            RawId::Uuid(uuid) if !per_source => MessageId::from_uuid(*uuid),
            RawId::Uuid(uuid) => MessageId::parse_per_source(&uuid.to_string(), source),
            RawId::Text(text) if per_source => MessageId::parse_per_source(text, source),
            RawId::Text(text) => MessageId::parse(text, source),
        }
    }
}

/// The headers of a message: names with text values. Names are compared without regard to case.
#[derive(Clone, Default)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// The first value under `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// All headers, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Shows the names only: values may be secrets.
impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
