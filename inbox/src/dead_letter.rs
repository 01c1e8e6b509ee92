//! [`DeadLetter`]: a message that was put away, and [`DeadLetters`]: the store's table of them.

use std::future::Future;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use crate::envelope::Envelope;
use crate::message_id::MessageId;
use crate::settlement::DeadLetterReason;
use crate::store::{Fault, StoreError};

/// A message that was put away instead of processed, whole, with the reason.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// What it is known by within its consumer, made from the message's id, event type, source and
    /// payload; for a message without a valid id from all that it has. Put away again, it is the same
    /// letter, and another message under its id is another one.
    pub key: Uuid,
    /// The consumer that could not process it.
    pub consumer: String,
    /// Its id, where it has a valid one.
    pub message_id: Option<MessageId>,
    /// The message as it arrived.
    pub envelope: Envelope,
    /// Why it was put away.
    pub reason: DeadLetterReason,
    /// What the last attempt was answered: the text of `{:#}` of its
    /// [`DispatchError`](crate::DispatchError), which holds no value from the payload unless the handler
    /// wrote one into its own error.
    pub error: String,
    /// How many attempts were counted.
    pub attempts: u32,
}

/// A dead letter in the store's table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredDeadLetter {
    /// The letter.
    pub letter: DeadLetter,
    /// When it was put away for the first time, by the database's clock.
    pub first_at: OffsetDateTime,
    /// When it was put away for the last time.
    pub last_at: OffsetDateTime,
}

impl StoredDeadLetter {
    /// For stores.
    pub fn new(letter: DeadLetter, first_at: OffsetDateTime, last_at: OffsetDateTime) -> Self {
        Self { letter, first_at, last_at }
    }
}

/// The table of dead letters in the inbox's own database.
pub trait DeadLetters: Send + Sync + 'static {
    /// Puts a letter away; `Ok` when that is durable. A letter that is there under the same key is
    /// replaced, keeps its first time, and keeps its reason and its error too where the new one is only
    /// that the message [never answered](DeadLetterReason::NeverAnswered).
    fn put_away(&self, letter: &DeadLetter) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The letters of a consumer, the oldest first, `limit` at most; those after `after`, where it is
    /// given. Each comes with its payload.
    fn dead_letters(
        &self,
        consumer: &str,
        after: Option<&StoredDeadLetter>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<StoredDeadLetter>, StoreError>> + Send;

    /// One letter.
    fn dead_letter(
        &self,
        consumer: &str,
        key: Uuid,
    ) -> impl Future<Output = Result<Option<StoredDeadLetter>, StoreError>> + Send;

    /// Throws a letter away for good; whether there was one.
    fn discard(
        &self,
        consumer: &str,
        key: Uuid,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Marks a message processed on purpose, without running its handlers: its dedup row is written
    /// with the reason in it. Whether it was written; a message that was processed stays as it is.
    fn skip(
        &self,
        consumer: &str,
        message_id: MessageId,
        reason: &str,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;
}

/// What a letter is known by: pinned, so that a message is one letter however often it is delivered. Two
/// messages under one id are two.
const NAMESPACE: Uuid = Uuid::from_u128(0x8d3c_51f7_66c2_5d0e_9a4b_1f0c_27d8_90ab);

impl DeadLetter {
    pub(crate) fn key_of(message_id: Option<MessageId>, envelope: &Envelope) -> Uuid {
        match message_id {
            Some(id) => {
                let mut all = id.as_uuid().as_bytes().to_vec();
                for text in [envelope.event_type(), envelope.source().unwrap_or_default()] {
                    all.extend((text.len() as u64).to_be_bytes());
                    all.extend(text.as_bytes());
                }
                all.extend(envelope.payload());
                Uuid::new_v5(&NAMESPACE, &all)
            }
            None => {
                let metadata = metadata_of(envelope, None);
                let mut all = (metadata.len() as u64).to_be_bytes().to_vec();
                all.extend(metadata.into_bytes());
                all.extend(envelope.payload());
                Uuid::new_v5(&NAMESPACE, &all)
            }
        }
    }

    /// Everything of the message but its payload, as JSON for a store's column.
    pub fn metadata(&self) -> String {
        metadata_of(&self.envelope, self.envelope.delivery_attempt())
    }

    /// The message of what [`metadata`](Self::metadata) gave and of its payload.
    ///
    /// # Errors
    /// Text that `metadata` did not write.
    pub fn restore(metadata: &str, payload: Vec<u8>) -> Result<Envelope, StoreError> {
        let damaged = || StoreError::new(Fault::Other, "a dead letter's metadata cannot be read");
        let metadata: Metadata = serde_json::from_str(metadata).map_err(|_| damaged())?;
        metadata.into_envelope(payload).ok_or_else(damaged)
    }
}

/// Named as in CloudEvents, where that has a name.
#[derive(Serialize, Deserialize)]
struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    id: Option<String>,
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    datacontenttype: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    correlationid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    causationid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    partitionkey: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    deliveries: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    headers: Vec<(String, String)>,
}

fn metadata_of(envelope: &Envelope, deliveries: Option<u32>) -> String {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let header = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let metadata = Metadata {
        id: envelope.raw_id(),
        r#type: envelope.event_type().to_owned(),
        source: owned(envelope.source()),
        time: envelope.occurred_at().and_then(|at| at.format(&Rfc3339).ok()),
        datacontenttype: owned(envelope.content_type()),
        correlationid: owned(envelope.correlation_id()),
        causationid: owned(envelope.causation_id()),
        partitionkey: owned(envelope.ordering_key()),
        deliveries,
        headers: envelope.headers().iter().map(header).collect(),
    };
    // Text, numbers and lists of them cannot fail to be written.
    serde_json::to_string(&metadata).unwrap_or_default()
}

impl Metadata {
    fn into_envelope(self, payload: Vec<u8>) -> Option<Envelope> {
        let mut envelope = Envelope::new(self.id, self.r#type, payload);
        if let Some(time) = self.time {
            envelope = envelope.with_occurred_at(OffsetDateTime::parse(&time, &Rfc3339).ok()?);
        }
        type Set = fn(Envelope, String) -> Envelope;
        let fields: [(Option<String>, Set); 5] = [
            (self.source, |envelope, text| envelope.with_source(text)),
            (self.datacontenttype, |envelope, text| envelope.with_content_type(text)),
            (self.correlationid, |envelope, text| envelope.with_correlation_id(text)),
            (self.causationid, |envelope, text| envelope.with_causation_id(text)),
            (self.partitionkey, |envelope, text| envelope.with_ordering_key(text)),
        ];
        for (text, set) in fields {
            if let Some(text) = text {
                envelope = set(envelope, text);
            }
        }
        if let Some(deliveries) = self.deliveries {
            envelope = envelope.with_delivery_attempt(deliveries);
        }
        let with_header = |envelope: Envelope, (name, value)| envelope.with_header(name, value);
        Some(self.headers.into_iter().fold(envelope, with_header))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(envelope: Envelope) -> DeadLetter {
        DeadLetter {
            key: DeadLetter::key_of(None, &envelope),
            consumer: "orders-service".into(),
            message_id: None,
            envelope,
            reason: DeadLetterReason::Permanent,
            error: String::new(),
            attempts: 1,
        }
    }

    #[test]
    fn a_message_survives_being_put_away_whole_also_an_unusable_one() {
        let full = Envelope::new("evt\0_17", "a type", b"\xff\0payload".as_slice())
            .with_source("https://shop.example")
            .with_occurred_at(OffsetDateTime::UNIX_EPOCH)
            .with_content_type("text/plain")
            .with_correlation_id("c")
            .with_causation_id("d")
            .with_ordering_key("k")
            .with_delivery_attempt(7)
            .with_header("traceparent", "00-1")
            .with_header("traceparent", "00-2");
        for envelope in [full, Envelope::new(None::<&str>, "", Vec::new())] {
            let letter = letter(envelope);
            let back = DeadLetter::restore(&letter.metadata(), letter.envelope.payload().to_vec())
                .unwrap();
            assert_eq!(metadata_of(&back, back.delivery_attempt()), letter.metadata());
            assert_eq!(back.payload(), letter.envelope.payload());
        }
    }

    #[test]
    fn a_message_without_an_id_is_one_letter_however_often_it_is_delivered() {
        let message = |payload: &str| Envelope::new(None::<&str>, "t", payload);
        let key = |envelope: &Envelope| DeadLetter::key_of(None, envelope);
        assert_eq!(
            key(&message("a").with_delivery_attempt(1)),
            key(&message("a").with_delivery_attempt(2))
        );
        assert_ne!(key(&message("a")), key(&message("b")));
    }

    #[test]
    fn two_messages_under_one_id_are_two_letters() {
        let id = MessageId::from_uuid(Uuid::from_u128(7)).unwrap();
        let key = |event_type: &str, source: &str, payload: &str| {
            let envelope = Envelope::new(id, event_type, payload).with_source(source);
            DeadLetter::key_of(Some(id), &envelope.with_delivery_attempt(3))
        };
        assert_eq!(key("t", "s", "a"), key("t", "s", "a"));
        for other in
            [key("t", "s", "b"), key("u", "s", "a"), key("t", "r", "a"), key("ts", "", "a")]
        {
            assert_ne!(other, key("t", "s", "a"));
        }
    }

    #[test]
    fn damaged_metadata_is_an_error() {
        for text in ["", "{}", r#"{"type":"t","time":"yesterday"}"#] {
            assert!(DeadLetter::restore(text, Vec::new()).is_err(), "{text}");
        }
    }
}
