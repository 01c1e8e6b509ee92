//! What `#[integration_event(…)]` is given.

use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Lit, LitStr, Token, Type};

use crate::argument_rules::literal;
use crate::arguments::{Arguments, Value};

pub(crate) const KEYS: [&str; 3] = ["name", "upcast_from", "crate"];

pub(crate) fn name(arguments: &Arguments) -> Option<LitStr> {
    match literal(arguments.get("name")?)? {
        Lit::Str(text) => Some(text),
        _ => None,
    }
}

/// The older versions of the event, in the order they are written.
pub(crate) fn upcast_from(arguments: &Arguments) -> Option<Vec<Type>> {
    let Value::List(list) = &arguments.get("upcast_from")?.value else { return None };
    let types = Punctuated::<Type, Token![,]>::parse_terminated.parse2(list.stream()).ok()?;
    (!types.is_empty()).then(|| types.into_iter().collect())
}
