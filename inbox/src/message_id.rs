//! [`MessageId`]: the producer's id of a message, and how 16 bytes are made of any text.

use std::fmt;

use uuid::Uuid;

use crate::error::InvalidEnvelope;

/// The namespace of derived ids. Pinned for ever: changing it would make every message with a text
/// id look new.
const NAMESPACE: Uuid = Uuid::from_u128(0x6b1f_6f6a_3c5e_5d0b_9a54_1d8f_0c2e_7a41);

/// The longest text id or source, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 1024;

/// The producer's stable id of a message: the same on every redelivery, 16 bytes, never nil.
///
/// A handler may take it as an argument, for example as the idempotency key of a call to the
/// outside.
///
/// Only the 36-character hyphenated form is read as a UUID: 32 hex digits are as likely an MD5 sum
/// or a trace id. Any other text (`evt_1N…`, `orders/3/1742`, a CloudEvents id) becomes a UUIDv5
/// (RFC 9562, section 5.5) of its source and itself:
///
/// ```text
/// UUIDv5(namespace 6b1f6f6a-3c5e-5d0b-9a54-1d8f0c2e7a41,
///        len(source) as 4 bytes big-endian ‖ source ‖ len(id) as 4 bytes big-endian ‖ id)
/// ```
///
/// with both texts in UTF-8 and lengths in bytes. The length prefixes keep (`ab`, `c`) and
/// (`a`, `bc`) apart.
///
/// ```
/// use inbox::MessageId;
///
/// let uuid = MessageId::parse("019b9e1c-3f6a-7c52-8d7e-0b6a4f1c2d3e", None)?;
/// assert_eq!(uuid.to_string(), "019b9e1c-3f6a-7c52-8d7e-0b6a4f1c2d3e");
///
/// let text = MessageId::parse("evt_1NG8Du2eZvKYlo2CUI79vXWy", Some("https://api.stripe.com"))?;
/// assert_eq!(text.to_string(), "9b019acb-a2c3-5212-b36e-8fcec28d7a43");
///
/// // Text is unique only within its source, so without one it is refused.
/// assert_eq!(MessageId::parse("evt_1", None).unwrap_err().field(), "source");
/// # Ok::<(), inbox::InvalidEnvelope>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(Uuid);

impl MessageId {
    /// The id as it stands in `uuid`.
    ///
    /// # Errors
    /// The nil UUID is refused: it is what a producer that forgot the id sends, so the second
    /// message with it would look like a duplicate of the first.
    pub fn from_uuid(uuid: Uuid) -> Result<Self, InvalidEnvelope> {
        if uuid.is_nil() {
            return Err(InvalidEnvelope::new(
                "message id",
                "is the nil UUID, which names no message: the producer must set a real one",
            ));
        }
        Ok(Self(uuid))
    }

    /// Reads `text` by the rule above.
    ///
    /// # Errors
    /// A blank, nil or oversized id (over 1,024 bytes), one with control characters, and a text id
    /// without a source.
    pub fn parse(text: &str, source: Option<&str>) -> Result<Self, InvalidEnvelope> {
        match as_hyphenated_uuid(text) {
            Some(uuid) => Self::from_uuid(uuid),
            None => Self::derive(text, source),
        }
    }

    /// Like [`parse`](Self::parse), but a UUID too is only unique within its source: for producers
    /// that use one entity's UUID as their message id.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and a UUID without a source.
    pub fn parse_per_source(text: &str, source: Option<&str>) -> Result<Self, InvalidEnvelope> {
        match as_hyphenated_uuid(text) {
            Some(uuid) => Self::derive(&Self::from_uuid(uuid)?.to_string(), source),
            None => Self::derive(text, source),
        }
    }

    fn derive(text: &str, source: Option<&str>) -> Result<Self, InvalidEnvelope> {
        check_text("message id", text)?;
        let source = source.ok_or_else(|| {
            InvalidEnvelope::new(
                "source",
                "is missing, and a text id is unique only within its source: have the producer \
                 send one, or name it where the subscription builds the envelope",
            )
        })?;
        check_text("source", source)?;
        let mut name = Vec::with_capacity(8 + source.len() + text.len());
        for part in [source, text] {
            // `check_text` bounds both far below 4 GiB.
            name.extend_from_slice(&(part.len() as u32).to_be_bytes());
            name.extend_from_slice(part.as_bytes());
        }
        Ok(Self(Uuid::new_v5(&NAMESPACE, &name)))
    }

    /// The 16 bytes, as stores keep them.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The id as a UUID.
    pub const fn as_uuid(&self) -> Uuid {
        self.0
    }
}

/// UUID text in its 36-character hyphenated form, upper or lower case, and in no other.
fn as_hyphenated_uuid(text: &str) -> Option<Uuid> {
    if text.len() != 36 {
        return None; // `Uuid` also reads 32 digits, braces and URNs
    }
    Uuid::try_parse(text).ok()
}

/// The rule for every bounded text of an envelope.
pub(crate) fn check_text(field: &'static str, text: &str) -> Result<(), InvalidEnvelope> {
    let problem = if text.trim().is_empty() {
        "is blank"
    } else if text.len() > MAX_TEXT_BYTES {
        "is longer than 1,024 bytes"
    } else if text.chars().any(char::is_control) {
        "has a control character"
    } else {
        return Ok(());
    };
    Err(InvalidEnvelope::new(field, problem))
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageId({})", self.0)
    }
}

impl From<MessageId> for Uuid {
    fn from(id: MessageId) -> Uuid {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "019b9e1c-3f6a-7c52-8d7e-0b6a4f1c2d3e";

    #[test]
    fn k5_missing_nil_blank_and_oversized_ids_are_refused() {
        let long = "x".repeat(1025);
        for bad in ["", "   ", "\u{2003}", "a\nb", long.as_str(), &Uuid::nil().to_string()] {
            let refused = MessageId::parse(bad, Some("s")).unwrap_err();
            assert_eq!(refused.field(), "message id", "{bad:?}");
        }
        assert!(MessageId::from_uuid(Uuid::nil()).is_err());
    }

    #[test]
    fn only_the_hyphenated_form_is_read_as_a_uuid() {
        let id = MessageId::parse(UUID, None).unwrap();
        assert_eq!(id.to_string(), UUID);
        assert_eq!(MessageId::parse(&UUID.to_uppercase(), None).unwrap(), id);
        let others = [
            UUID.replace('-', ""),
            format!("{{{UUID}}}"),
            format!("urn:uuid:{UUID}"),
            format!(" {UUID}"),
        ];
        for text in others {
            assert_eq!(MessageId::parse(&text, None).unwrap_err().field(), "source", "{text}");
            assert_ne!(MessageId::parse(&text, Some("s")).unwrap(), id, "{text}");
        }
    }

    #[test]
    fn ids_per_source_tell_two_producers_apart() {
        let a = MessageId::parse_per_source(UUID, Some("a")).unwrap();
        let b = MessageId::parse_per_source(UUID, Some("b")).unwrap();
        assert_ne!(a, b);
        assert_eq!(MessageId::parse_per_source(&UUID.to_uppercase(), Some("a")).unwrap(), a);
        assert_eq!(MessageId::parse_per_source(UUID, None).unwrap_err().field(), "source");
    }

    #[test]
    fn length_prefixes_keep_source_and_id_apart() {
        let ids = [("ab", "c"), ("a", "bc"), ("abc", "c")]
            .map(|(source, id)| MessageId::parse(id, Some(source)).unwrap());
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    }

    /// Computed by an independent implementation of the rule; published in docs/guarantees.md. A
    /// change here would make every known message with a text id look new.
    #[test]
    fn derived_ids_match_the_pinned_test_vectors() {
        for (source, id, derived) in [
            (
                "https://api.stripe.com",
                "evt_1NG8Du2eZvKYlo2CUI79vXWy",
                "9b019acb-a2c3-5212-b36e-8fcec28d7a43",
            ),
            ("orders", "3/1742", "e83dfb40-6d8e-5106-9702-935dcb75b316"),
            ("a", "b", "b3b53310-6973-5d38-899e-522cea230054"),
            (
                "https://shop.example/bücher",
                "Bestellung-№-7",
                "281eb25b-04f4-5c85-935e-ccfc321c530a",
            ),
        ] {
            assert_eq!(MessageId::parse(id, Some(source)).unwrap().to_string(), derived);
        }
        let per_source = MessageId::parse_per_source(UUID, Some("a")).unwrap();
        assert_eq!(per_source.to_string(), "b0942fbf-bfa7-5681-915c-55bb9bd5e91d");
    }
}
