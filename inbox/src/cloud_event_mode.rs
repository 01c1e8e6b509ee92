//! [`CloudEventMode`]: where the attributes of a CloudEvent stand in a message.

use crate::error::InvalidEnvelope;

/// Where the attributes of a CloudEvent stand in a message, as its content type tells; for transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloudEventMode {
    /// In the message's headers, if it is a CloudEvent at all; the payload is the data.
    Binary,
    /// In the payload, which is one JSON object.
    Structured,
    /// In the payload, which is a list of them.
    Batch,
}

impl CloudEventMode {
    /// The mode of a message with this content type.
    pub fn of(content_type: Option<&str>) -> Self {
        let media_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
        match media_type.trim().to_ascii_lowercase().as_str() {
            "application/cloudevents" | "application/cloudevents+json" => Self::Structured,
            "application/cloudevents-batch+json" => Self::Batch,
            _ => Self::Binary,
        }
    }

    /// Why a batch is not read: one message has one outcome.
    pub fn batch_refused() -> InvalidEnvelope {
        InvalidEnvelope::new("content type", "is a batch of CloudEvents; publish them one by one")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_tells_the_mode() {
        for (content_type, mode) in [
            (None, CloudEventMode::Binary),
            (Some("application/json"), CloudEventMode::Binary),
            (Some("Application/CloudEvents+JSON; charset=utf-8"), CloudEventMode::Structured),
            (Some("application/cloudevents-batch+json"), CloudEventMode::Batch),
        ] {
            assert_eq!(CloudEventMode::of(content_type), mode, "{content_type:?}");
        }
    }
}
