//! Decoding a payload, and saying where it failed without quoting it.

mod node;
mod refused;

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::error::Category;

use self::node::{Second, read_again};
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
    /// path that is itself data (a map's key, an unknown variant, a field beside a flattened one) is
    /// shown as `*`.
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
    serde_json::from_slice(envelope.payload())
        .map_err(|error| described::<T>(&error, envelope.payload()))
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

/// serde_json's own text quotes the payload (`invalid type: string "4111 …"`), so only its category and
/// position are used; what is wrong, and where, comes from a second reading.
fn described<T: DeserializeOwned>(error: &serde_json::Error, payload: &[u8]) -> DecodeError {
    let (problem, path) = match read_again::<T>(payload) {
        Second::Refused(refused) => {
            let path = refused.path();
            (refused.problem, path)
        }
        Second::NothingRefused => ("a field is repeated, or a number is out of range".into(), None),
        Second::NotJson if error.classify() == Category::Eof => {
            ("the payload ends too early".into(), None)
        }
        Second::NotJson => ("the payload is not valid JSON".into(), None),
    };
    DecodeError { problem, path, position: Some((error.line(), error.column())) }
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
        #[serde(default)]
        prices: HashMap<u64, u8>,
        #[serde(default)]
        payment: Option<Payment>,
        #[serde(default)]
        size: Option<(u8, u8)>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Line {
        quantity: u8,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    #[serde(rename_all = "snake_case")]
    enum Payment {
        Invoice,
        Card { number: String },
        Debit(u8),
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Parcel {
        weight: u8,
        #[serde(flatten)]
        labels: HashMap<String, u8>,
    }

    fn refused(payload: &str) -> DecodeError {
        decode_json::<Order>(&Envelope::new("1", "t", payload)).unwrap_err()
    }

    /// Refused for one field beside the two that are required.
    fn refused_field(field: &str) -> String {
        let error = refused(&format!(r#"{{"sku": "a", "lines": [], {field}}}"#));
        assert!(error.position().is_some());
        match error.path() {
            Some(path) => format!("{} @ {path}", error.problem),
            None => error.problem,
        }
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
    fn the_error_says_what_was_expected() {
        for (field, told) in [
            (r#""notes": 7"#, "expected a map, found a number @ notes"),
            (r#""prices": {"12": "x"}"#, "expected u8, found a string @ prices.*"),
            (r#""prices": {"12": 1, "x": 1}"#, "expected u64, found a string @ prices.*"),
            (r#""payment": {"debit": null}"#, "expected u8, found null @ payment.debit"),
            (r#""payment": {"card": {}}"#, "missing field `number` @ payment.card"),
            (
                r#""payment": {"card": {}, "debit": 1}"#,
                "expected an object with a single key, found an object that is not @ payment",
            ),
            (
                r#""payment": "card""#,
                "expected struct variant, found a variant without content @ payment",
            ),
            (r#""size": [1, 2, 3]"#, "expected fewer elements, found 3 elements @ size"),
            (r#""size": [1]"#, "expected a tuple of size 2, found 1 elements @ size"),
            (r#""sku": "b""#, "a field is repeated, or a number is out of range"),
        ] {
            assert_eq!(refused_field(field), told, "{field}");
        }
    }

    /// What might be a name of the type, or a patient's.
    #[test]
    fn names_from_the_payload_are_not_shown() {
        for (field, told) in [
            (r#""notes": {"anna": "x"}"#, "expected u8, found a string @ notes.*"),
            (r#""notes": {"sku": "x"}"#, "expected u8, found a string @ notes.*"),
            (
                r#""payment": {"anna": 1}"#,
                "an unknown variant, expected one of `invoice`, `card`, `debit` @ payment.*",
            ),
            (
                r#""payment": "anna""#,
                "an unknown variant, expected one of `invoice`, `card`, `debit` @ payment",
            ),
        ] {
            assert_eq!(refused_field(field), told, "{field}");
        }
        // serde reads a struct with a flattened part as a map, and does not tell whose a name is.
        for payload in [r#"{"weight": 1, "anna": "x"}"#, r#"{"weight": "x"}"#] {
            let error = decode_json::<Parcel>(&Envelope::new("1", "t", payload)).unwrap_err();
            assert!(error.to_string().starts_with("expected u8, found a string"), "{error}");
            assert!(error.path().is_none_or(|path| path == "*"), "{error}");
        }
    }

    #[test]
    fn no_error_quotes_the_payload() {
        let secret = "4111-1111-1111-1111";
        for payload in [
            format!(r#"{{"sku": "{secret}", "lines": "{secret}"}}"#),
            format!(r#"{{"sku": 1, "lines": [{{"quantity": "{secret}"}}]}}"#),
            format!(r#"{{"sku": "a", "lines": [], "notes": {{"{secret}": "x"}}}}"#),
            format!(r#"{{"sku": "a", "lines": [], "payment": "{secret}"}}"#),
            format!(r#"{{"sku": "a", "lines": [], "payment": {{"{secret}": 1}}}}"#),
            format!(r#"{{"sku": "a", "lines": [], "prices": {{"{secret}": 1}}}}"#),
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
