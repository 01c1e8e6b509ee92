//! What a type refuses in a payload, told in the type's own words.
//!
//! serde hands some names over as the type's (`&'static str`) and some as the payload's (a map's keys
//! and unknown variants among them). The latter may be anything and are never shown.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

/// What a type refuses in a payload that is valid JSON.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) problem: String,
    /// From the inside out, as the error comes up.
    steps: Vec<Step>,
}

#[derive(Debug)]
pub(super) enum Step {
    /// A field or variant of the type.
    Name(&'static str),
    Index(usize),
    /// A name that only the payload knows.
    Foreign,
}

impl Refused {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), steps: Vec::new() }
    }

    pub(super) fn inside(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Such as `lines[3].sku`; `None` for the payload itself.
    pub(super) fn path(&self) -> Option<String> {
        let mut path = String::new();
        for step in self.steps.iter().rev() {
            let name = match step {
                Step::Index(index) => {
                    path.push_str(&format!("[{index}]"));
                    continue;
                }
                Step::Name(name) => name,
                Step::Foreign => "*",
            };
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
        }
        (!path.is_empty()).then_some(path)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for Refused {}

/// What serde tells is kept where it comes from the type, and dropped where it comes from the payload.
impl Error for Refused {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::new("a value is refused by the type that reads it")
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {expected}, found {}", kind(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {expected}, found {} that is not", kind(found)))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {expected}, found {length} elements"))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("an unknown variant, expected {}", one_of(expected)))
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("an unknown field, expected {}", one_of(expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("missing field `{field}`"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("duplicate field `{field}`"))
    }
}

fn kind(found: Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
        Unexpected::Char(_) | Unexpected::Str(_) => "a string",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "an array",
        Unexpected::Map => "an object",
        Unexpected::UnitVariant => "a variant without content",
        _ => "a value",
    }
}

fn one_of(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        names => format!("one of `{}`", names.join("`, `")),
    }
}
