//! Decoding a payload, and saying where it failed without quoting it.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment};

use crate::cloud_events::is_json;
use crate::envelope::Envelope;

/// Why a payload could not be decoded: what is wrong and where, never a value from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    problem: String,
    path: Option<String>,
    position: Option<(usize, usize)>,
}

impl DecodeError {
    /// For an [`IntegrationEvent`](crate::IntegrationEvent) implemented by hand. `problem` must not
    /// quote the payload: it is logged.
    pub fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), path: None, position: None }
    }

    /// The path to the field, such as `lines[3].sku`, where the format has paths. A part of the
    /// path that might itself be data (a map's key that is no identifier) is shown as `*`.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Line and column in the payload, both from 1, where the format is text.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.position
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)?;
        if let Some(path) = &self.path {
            write!(f, " at `{path}`")?;
        }
        if let Some((line, column)) = self.position {
            write!(f, " (line {line}, column {column})")?;
        }
        Ok(())
    }
}

impl std::error::Error for DecodeError {}

/// Reads a JSON payload; what `#[integration_event]` generates calls it.
///
/// # Errors
/// A content type that is not JSON, and a payload that is not a `T`.
pub fn decode_json<T: JsonEvent>(envelope: &Envelope) -> Result<T, DecodeError> {
    if !is_json(envelope.content_type()) {
        return Err(DecodeError::new(
            "the content type is not JSON, the only one a derived event reads",
        ));
    }
    if envelope.payload().is_empty() {
        return Err(DecodeError::new("the payload is empty"));
    }
    let mut json = serde_json::Deserializer::from_slice(envelope.payload());
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = shown(error.path());
        described(error.inner(), path)
    })?;
    json.end().map_err(|error| described(&error, None))?;
    Ok(value)
}

/// An event that is read from JSON.
#[diagnostic::on_unimplemented(
    message = "the event `{Self}` cannot be read from JSON",
    label = "no `serde::Deserialize` that owns what it reads",
    note = "write `#[derive(serde::Deserialize)]` on `{Self}`"
)]
pub trait JsonEvent: DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> JsonEvent for T {}

/// serde_json's own text quotes the payload (`invalid type: string "4111 …"`), so only its category
/// and position are used, and the field names that come from the type.
fn described(error: &serde_json::Error, path: Option<String>) -> DecodeError {
    let problem = match error.classify() {
        Category::Data => field_named_by_the_type(error)
            .unwrap_or_else(|| "a value has the wrong type or is out of range".to_owned()),
        Category::Syntax => "the payload is not valid JSON".to_owned(),
        Category::Eof => "the payload ends too early".to_owned(),
        Category::Io => "the payload could not be read".to_owned(),
    };
    DecodeError { problem, path, position: Some((error.line(), error.column())) }
}

/// serde's texts for a missing or repeated field name it from the type's own field list.
fn field_named_by_the_type(error: &serde_json::Error) -> Option<String> {
    let text = error.to_string();
    ["missing field", "duplicate field"].into_iter().find_map(|what| {
        let (name, _) = text.strip_prefix(what)?.strip_prefix(" `")?.split_once('`')?;
        is_identifier(name).then(|| format!("{what} `{name}`"))
    })
}

fn shown(path: &Path) -> Option<String> {
    let mut shown = String::new();
    for segment in path.iter() {
        match segment {
            Segment::Seq { index } => shown.push_str(&format!("[{index}]")),
            Segment::Map { key } | Segment::Enum { variant: key } => {
                if !shown.is_empty() {
                    shown.push('.');
                }
                shown.push_str(if is_identifier(key) { key } else { "*" });
            }
            Segment::Unknown => shown.push('?'),
        }
    }
    (!shown.is_empty() && shown != "?").then_some(shown)
}

fn is_identifier(text: &str) -> bool {
    let first_is_letter = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    first_is_letter && plain && text.len() <= 64
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)] // read by `Debug` alone
    struct Order {
        sku: String,
        lines: Vec<Line>,
        #[serde(default)]
        notes: HashMap<String, u8>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Line {
        quantity: u8,
    }

    fn refused(payload: &str) -> DecodeError {
        decode_json::<Order>(&Envelope::new("1", "t", payload)).unwrap_err()
    }

    #[test]
    fn the_error_names_the_field_and_the_place() {
        let error =
            refused("{\"sku\": \"a\",\n \"lines\": [{\"quantity\": 1}, {\"quantity\": 300}]}");
        assert_eq!(error.path(), Some("lines[1].quantity"));
        assert_eq!(error.position().unwrap().0, 2);
        assert!(refused(r#"{"lines": []}"#).to_string().starts_with("missing field `sku`"));
    }

    #[test]
    fn no_error_quotes_the_payload() {
        let secret = "4111-1111-1111-1111";
        for payload in [
            format!(r#"{{"sku": "{secret}", "lines": "{secret}"}}"#),
            format!(r#"{{"sku": 1, "lines": [{{"quantity": "{secret}"}}]}}"#),
            format!(r#"{{"sku": "a", "lines": [], "notes": {{"{secret}": "x"}}}}"#),
            format!(r#""{secret}""#),
            format!(r#"{{"sku": "a", "lines": []}} {secret}"#),
            format!(r#"{{"sku": "{secret}"#),
            secret.to_owned(),
        ] {
            let text = format!("{0} {0:?}", refused(&payload));
            assert!(!text.contains("4111"), "{text}");
        }
    }

    #[test]
    fn deep_empty_and_foreign_payloads_are_errors() {
        refused(&"[".repeat(100_000));
        assert_eq!(refused("").to_string(), "the payload is empty");
        let other = Envelope::new("1", "t", "{}").with_content_type("application/x-protobuf");
        assert!(decode_json::<Order>(&other).unwrap_err().to_string().contains("content type"));
    }
}
