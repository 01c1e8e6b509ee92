//! CloudEvents 1.0 in its JSON form (structured mode), in and out.
//!
//! Format: <https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md>.

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
    /// `data` becomes the payload byte for byte (a JSON string whose `datacontenttype` is not JSON
    /// becomes that string's text; `data_base64` is decoded). `partitionkey` becomes the ordering
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
        let version = attributes.required("specversion")?;
        if !version.starts_with("1.") {
            let problem = "is not 1.0, the version this library reads";
            return Err(InvalidEnvelope::new("specversion", problem));
        }
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

/// A JSON object's members in order, each still text. A name that stands twice is refused: two
/// readers could take two different ids from it.
struct Attributes(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Attributes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Attributes, A::Error> {
                let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if members.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom("a member stands twice"));
                    }
                    members.push((name, value));
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
        let at = self.0.iter().position(|(known, _)| known == name)?;
        let (_, value) = self.0.swap_remove(at);
        (value.get() != "null").then_some(value)
    }

    fn text(&mut self, name: &'static str) -> Result<Option<String>, InvalidEnvelope> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match serde_json::from_str(value.get()) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(InvalidEnvelope::new(name, "is not a JSON string")),
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
        let at = |name| self.0.iter().position(|(known, _)| known == name);
        // `"data": null` is the JSON value null, not an absent payload.
        let data = at("data").map(|i| self.0.swap_remove(i).1);
        let encoded = self.text("data_base64")?;
        match (data, encoded) {
            (Some(_), Some(_)) => {
                Err(InvalidEnvelope::new("data", "and data_base64 exclude each other"))
            }
            (None, None) => Ok(Vec::new()),
            (None, Some(encoded)) => BASE64
                .decode(encoded)
                .map_err(|_| InvalidEnvelope::new("data_base64", "is not Base64 (RFC 4648)")),
            (Some(data), None) => Ok(match serde_json::from_str::<String>(data.get()) {
                Ok(text) if !is_json(content_type) => text.into_bytes(),
                _ => data.get().as_bytes().to_vec(),
            }),
        }
    }

    fn optional_into(mut self, mut envelope: Envelope) -> Result<Envelope, InvalidEnvelope> {
        if let Some(time) = self.text("time")? {
            let time = OffsetDateTime::parse(&time, &Rfc3339)
                .map_err(|_| InvalidEnvelope::new("time", "is not an RFC 3339 timestamp"))?;
            envelope = envelope.with_occurred_at(time);
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
            let text = serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned());
            envelope = envelope.with_header(name, text);
        }
        Ok(envelope)
    }
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
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Envelope, InvalidEnvelope> {
        Envelope::from_cloud_event_json(json.as_bytes())
    }

    #[test]
    fn every_attribute_finds_its_place_and_comes_back() {
        let json = r#"{"specversion":"1.0","id":"17","source":"/shop","type":"t.v1",
            "time":"2026-05-04T03:02:01.5Z","datacontenttype":"application/json",
            "partitionkey":"sku-1","correlationid":"c","causationid":"d",
            "traceparent":"00-ab-cd-01","number":7,"nothing":null,
            "data":{"big": 12345678901234567890.10, "text": "\u00e9"}}"#;
        let first = read(json).unwrap();
        let written = first.to_cloud_event_json().unwrap();
        for envelope in [first, read(&written).unwrap()] {
            assert_eq!(envelope.raw_id().as_deref(), Some("17"));
            assert_eq!(envelope.source(), Some("/shop"));
            assert_eq!(envelope.event_type(), "t.v1");
            assert_eq!(envelope.occurred_at().unwrap().unix_timestamp(), 1_777_863_721);
            assert_eq!(envelope.content_type(), Some("application/json"));
            assert_eq!(envelope.ordering_key(), Some("sku-1"));
            assert_eq!(envelope.correlation_id(), Some("c"));
            assert_eq!(envelope.causation_id(), Some("d"));
            assert_eq!(envelope.headers().get("TraceParent"), Some("00-ab-cd-01"));
            assert_eq!(envelope.headers().get("number"), Some("7"));
            assert_eq!(envelope.headers().get("nothing"), None);
            let payload = r#"{"big": 12345678901234567890.10, "text": "\u00e9"}"#;
            assert_eq!(envelope.payload(), payload.as_bytes());
        }
    }

    #[test]
    fn text_and_binary_payloads_come_back() {
        let head = r#"{"specversion":"1.0","id":"1","source":"s","type":"t""#;
        let text = read(&format!(r#"{head},"datacontenttype":"text/csv","data":"a,b"}}"#)).unwrap();
        assert_eq!(text.payload(), b"a,b");
        let binary = read(&format!(r#"{head},"data_base64":"/wA="}}"#)).unwrap();
        assert_eq!(binary.payload(), [0xff, 0]);
        let null = read(&format!(r#"{head},"data":null}}"#)).unwrap();
        assert_eq!(null.payload(), b"null");
        let empty = read(&format!("{head}}}")).unwrap();
        for envelope in [text, binary, null, empty] {
            let again = read(&envelope.to_cloud_event_json().unwrap()).unwrap();
            assert_eq!(again.payload(), envelope.payload());
        }
    }

    #[test]
    fn an_empty_object_of_data_keeps_its_braces() {
        let envelope = Envelope::new("1", "t", "{}").with_source("s");
        let written = envelope.to_cloud_event_json().unwrap();
        assert_eq!(read(&written).unwrap().payload(), b"{}");
    }

    #[test]
    fn what_is_no_cloud_event_is_told_by_attribute_and_never_quoted() {
        let cases = [
            ("", "CloudEvent"),
            ("[]", "CloudEvent"),
            ("{\"id\":\"4111\",\"id\":\"4112\"}", "CloudEvent"),
            (r#"{"id":"4111"}"#, "specversion"),
            (r#"{"specversion":"0.3","id":"4111"}"#, "specversion"),
            (r#"{"specversion":"1.0","id":4111}"#, "id"),
            (r#"{"specversion":"1.0","id":null}"#, "id"),
            (r#"{"specversion":"1.0","id":" "}"#, "id"),
            (r#"{"specversion":"1.0","id":"4111","type":"t"}"#, "source"),
            (r#"{"specversion":"1.0","id":"4111","source":"s"}"#, "type"),
            (r#"{"specversion":"1.0","id":"1","source":"s","type":"t","time":"4111"}"#, "time"),
            (
                r#"{"specversion":"1.0","id":"1","source":"s","type":"t","data_base64":"4111!"}"#,
                "data_base64",
            ),
            (
                r#"{"specversion":"1.0","id":"1","source":"s","type":"t","data":1,"data_base64":""}"#,
                "data",
            ),
        ];
        for (json, field) in cases {
            let refused = read(json).unwrap_err();
            assert_eq!(refused.field(), field, "{json}");
            assert!(!refused.to_string().contains("411"), "{refused}");
        }
    }

    #[test]
    fn json_is_told_from_other_content_types() {
        for json in [None, Some("application/json; charset=utf-8"), Some("text/JSON")] {
            assert!(is_json(json));
        }
        assert!(is_json(Some("application/vnd.acme.order+json")));
        for other in ["", "json", "application/jsonl", "application/xml"] {
            assert!(!is_json(Some(other)), "{other}");
        }
    }
}
