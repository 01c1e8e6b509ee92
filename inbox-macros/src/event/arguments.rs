//! What `#[integration_event(…)]` is given.

use quote::ToTokens;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Lit, LitStr, Path, Token, Type};

use crate::argument_rules::{literal, parsed};
use crate::arguments::{Argument, Arguments, Value};

pub(crate) const KEYS: [&str; 3] = ["name", "upcast_from", "crate"];

pub(crate) fn name(arguments: &Arguments) -> Option<LitStr> {
    match literal(arguments.get("name")?)? {
        Lit::Str(text) => Some(text),
        _ => None,
    }
}

/// What was assigned and should have been listed, as a list.
pub(crate) fn assigned_types(argument: &Argument) -> Option<String> {
    let path = parsed(argument, Path::parse_mod_style)?;
    Some(path.to_token_stream().to_string().replace(' ', ""))
}

/// The older versions of the event, in the order they are written.
pub(crate) fn upcast_from(arguments: &Arguments) -> Option<Vec<Type>> {
    let Value::List(list) = &arguments.get("upcast_from")?.value else { return None };
    let types = Punctuated::<Type, Token![,]>::parse_terminated.parse2(list.stream()).ok()?;
    (!types.is_empty()).then(|| types.into_iter().collect())
}
