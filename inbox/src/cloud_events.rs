//! CloudEvents 1.0 in its JSON form (structured mode), in and out.
//!
//! Format: <https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md>.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::envelope::Envelope;
use crate::error::InvalidEnvelope;

impl Envelope {
    /// Reads one CloudEvents JSON object.
    ///
    /// `data` becomes the payload byte for byte, without the white space around it (a JSON string whose
    /// `datacontenttype` is not JSON becomes that string's text; `data_base64` is decoded).
    /// `partitionkey` becomes the ordering
    /// key, `correlationid` and `causationid` the lineage, and every other attribute a header of
    /// its name.
    ///
    /// ```
    /// use inbox::Envelope;
    ///
    /// let envelope = Envelope::from_cloud_event_json(br#"{
    ///     "specversion": "1.0", "id": "17", "source": "/shop", "type": "stock.received.v1",
    ///     "data": {"sku": "tea", "quantity": 3}
    /// }"#)?;
    /// assert_eq!(envelope.payload(), br#"{"sku": "tea", "quantity": 3}"#);
    /// # Ok::<(), inbox::InvalidEnvelope>(())
    /// ```
    ///
    /// # Errors
    /// Anything that is no CloudEvent of version 1, naming the attribute and never showing its
    /// value.
    pub fn from_cloud_event_json(bytes: &[u8]) -> Result<Self, InvalidEnvelope> {
        let mut attributes: Attributes = serde_json::from_slice(bytes).map_err(not_json)?;
        check_version(&attributes.required("specversion")?)?;
        let id = attributes.required("id")?;
        let source = attributes.required("source")?;
        let event_type = attributes.required("type")?;
        let content_type = attributes.text("datacontenttype")?;
        let payload = attributes.payload(content_type.as_deref())?;
        let mut envelope = Self::new(id, event_type, payload).with_source(source);
        if let Some(content_type) = content_type {
            envelope = envelope.with_content_type(content_type);
        }
        attributes.optional_into(envelope)
    }

    /// Writes the message as one CloudEvents JSON object, which
    /// [`from_cloud_event_json`](Self::from_cloud_event_json) reads back.
    ///
    /// A JSON payload is written as `data`, anything else as `data_base64`. Headers whose names are
    /// valid attribute names (lower-case letters and digits, and no name of the format's own)
    /// become extension attributes; the format has no place for other headers, and they are left
    /// out.
    ///
    /// # Errors
    /// A message without an id or a source, which CloudEvents require.
    pub fn to_cloud_event_json(&self) -> Result<String, InvalidEnvelope> {
        let missing = |field| InvalidEnvelope::new(field, "is missing, and CloudEvents require it");
        let mut object = Map::new();
        object.insert("specversion".into(), json!("1.0"));
        object.insert("id".into(), json!(self.raw_id().ok_or_else(|| missing("message id"))?));
        object.insert("source".into(), json!(self.source().ok_or_else(|| missing("source"))?));
        object.insert("type".into(), json!(self.event_type()));
        let time = self.occurred_at().and_then(|at| at.format(&Rfc3339).ok());
        for (name, value) in [
            ("time", time.as_deref()),
            ("datacontenttype", self.content_type()),
            ("partitionkey", self.ordering_key()),
            ("correlationid", self.correlation_id()),
            ("causationid", self.causation_id()),
        ] {
            if let Some(value) = value {
                object.insert(name.into(), json!(value));
            }
        }
        for (name, value) in self.headers().iter() {
            if is_attribute_name(name) && !is_of_the_format(name) && !object.contains_key(name) {
                object.insert(name.into(), json!(value));
            }
        }
        Ok(with_data(Value::Object(object).to_string(), self))
    }
}

pub(crate) fn check_version(version: &str) -> Result<(), InvalidEnvelope> {
    if version.starts_with("1.") {
        return Ok(());
    }
    Err(InvalidEnvelope::new("specversion", "is not 1.0, the version this library reads"))
}

pub(crate) fn time_of(text: &str) -> Result<OffsetDateTime, InvalidEnvelope> {
    OffsetDateTime::parse(text, &Rfc3339)
        .map_err(|_| InvalidEnvelope::new("time", "is not an RFC 3339 timestamp"))
}

/// Adds the payload to the text of a JSON object, so that JSON is copied byte for byte.
fn with_data(object: String, envelope: &Envelope) -> String {
    let payload = envelope.payload();
    if payload.is_empty() {
        return object;
    }
    let open = object.trim_end_matches('}');
    let as_json = std::str::from_utf8(payload)
        .ok()
        .filter(|text| is_json(envelope.content_type()) && is_one_json_value(text));
    match as_json {
        Some(text) => format!("{open},\"data\":{text}}}"),
        None => format!("{open},\"data_base64\":\"{}\"}}", BASE64.encode(payload)),
    }
}

fn is_one_json_value(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Whether a media type is JSON; a missing one is, by the CloudEvents JSON format.
pub(crate) fn is_json(content_type: Option<&str>) -> bool {
    let Some(content_type) = content_type else { return true };
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    let Some((_, subtype)) = media_type.split_once('/') else { return false };
    subtype.eq_ignore_ascii_case("json") || subtype.to_ascii_lowercase().ends_with("+json")
}

fn is_attribute_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

/// Names that mean something else when read back.
fn is_of_the_format(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "specversion",
        "id",
        "source",
        "type",
        "time",
        "datacontenttype",
        "partitionkey",
        "correlationid",
        "causationid",
        "data",
    ];
    NAMES.contains(&name)
}

/// A JSON object's members, each still text. A name that stands twice is refused: two readers could
/// take two different ids from it.
struct Attributes(BTreeMap<String, Box<RawValue>>);

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Attributes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Attributes, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if members.insert(name, value).is_some() {
                        return Err(A::Error::custom("a member stands twice"));
                    }
                }
                Ok(Attributes(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl Attributes {
    /// Takes a member out; JSON's `null` is as good as absent (JSON format, section 2.2).
    fn take(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.0.remove(name).filter(|value| value.get() != "null")
    }

    fn text(&mut self, name: &'static str) -> Result<Option<String>, InvalidEnvelope> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match text_of(name, &value)? {
            Some(text) => Ok(Some(text)),
            None => Err(InvalidEnvelope::new(name, "is not a JSON string")),
        }
    }

    fn required(&mut self, name: &'static str) -> Result<String, InvalidEnvelope> {
        match self.text(name)? {
            Some(text) if text.trim().is_empty() => Err(InvalidEnvelope::new(name, "is blank")),
            Some(text) => Ok(text),
            None => Err(InvalidEnvelope::new(name, "is missing, and CloudEvents require it")),
        }
    }

    fn payload(&mut self, content_type: Option<&str>) -> Result<Vec<u8>, InvalidEnvelope> {
        // `"data": null` is the JSON value null, not an absent payload.
        let data = self.0.remove("data");
        let encoded = self.text("data_base64")?;
        match (data, encoded) {
            (Some(_), Some(_)) => {
                Err(InvalidEnvelope::new("data", "and data_base64 exclude each other"))
            }
            (None, None) => Ok(Vec::new()),
            (None, Some(encoded)) => BASE64
                .decode(encoded)
                .map_err(|_| InvalidEnvelope::new("data_base64", "is not Base64 (RFC 4648)")),
            (Some(data), None) if is_json(content_type) => Ok(data.get().into()),
            (Some(data), None) => Ok(match text_of("data", &data)? {
                Some(text) => text.into_bytes(),
                None => data.get().into(),
            }),
        }
    }

    fn optional_into(mut self, mut envelope: Envelope) -> Result<Envelope, InvalidEnvelope> {
        if let Some(time) = self.text("time")? {
            envelope = envelope.with_occurred_at(time_of(&time)?);
        }
        if let Some(key) = self.text("partitionkey")? {
            envelope = envelope.with_ordering_key(key);
        }
        if let Some(id) = self.text("correlationid")? {
            envelope = envelope.with_correlation_id(id);
        }
        if let Some(id) = self.text("causationid")? {
            envelope = envelope.with_causation_id(id);
        }
        for (name, value) in self.0.into_iter().filter(|(_, value)| value.get() != "null") {
            // Extension attributes are strings, numbers or booleans; the latter two keep their text.
            let text = text_of("extension attribute", &value)?;
            let text = text.unwrap_or_else(|| value.get().to_owned());
            envelope = envelope.with_header(name, text);
        }
        Ok(envelope)
    }
}

/// A JSON string's text; `None` for any other value. JSON can escape halves of surrogate pairs, which no
/// Unicode text has.
fn text_of(name: &'static str, value: &RawValue) -> Result<Option<String>, InvalidEnvelope> {
    if !value.get().starts_with('"') {
        return Ok(None);
    }
    let text = serde_json::from_str(value.get());
    text.map(Some).map_err(|_| {
        InvalidEnvelope::new(name, "is a string with half of a surrogate pair, which is no text")
    })
}

fn not_json(error: serde_json::Error) -> InvalidEnvelope {
    let (line, column) = (error.line(), error.column());
    let problem = match error.classify() {
        serde_json::error::Category::Data => "is not an object with each member once",
        serde_json::error::Category::Eof => "ends too early: it is cut off or empty",
        _ => "is not valid JSON",
    };
    InvalidEnvelope::new("CloudEvent", format!("{problem} (line {line}, column {column})"))
}

#[cfg(test)]
mod tests;
