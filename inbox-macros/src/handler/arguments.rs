//! What `#[inbox_handler(…)]` is given.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::{ExprPath, Lit, LitInt, LitStr, Token};

use crate::argument_rules::{literal, parsed};
use crate::arguments::{Argument, Arguments};
use crate::duration::milliseconds;

pub(crate) const KEYS: [&str; 5] = ["consumer", "timeout", "order", "batch", "crate"];

/// The value of `consumer`.
pub(crate) enum Consumer {
    Literal(LitStr),
    /// A `const` or an associated one, checked by rustc while it compiles.
    Const(ExprPath),
}

pub(crate) fn consumer(arguments: &Arguments) -> Option<Consumer> {
    let argument = arguments.get("consumer")?;
    match literal(argument) {
        Some(Lit::Str(text)) => Some(Consumer::Literal(text)),
        _ => parsed(argument, ExprPath::parse).map(Consumer::Const),
    }
}

pub(crate) fn timeout(arguments: &Arguments) -> Option<LitStr> {
    match literal(arguments.get("timeout")?)? {
        Lit::Str(text) => Some(text),
        _ => None,
    }
}

pub(crate) fn order(arguments: &Arguments) -> Option<i32> {
    parsed(arguments.get("order")?, signed)
}

/// Whether `argument` is a whole number, in range or not.
pub(crate) fn is_whole_number(argument: &Argument) -> bool {
    parsed(argument, |input: ParseStream<'_>| {
        input.parse::<Option<Token![-]>>()?;
        input.parse::<LitInt>()
    })
    .is_some()
}

/// Whether `argument` is given several values.
pub(crate) fn is_list(argument: &Argument) -> bool {
    parsed(argument, syn::ExprArray::parse).is_some()
}

/// A number without quotes as the timeout it was to be: `30` and `30s` as `30s`.
pub(crate) fn as_timeout(argument: &Argument) -> Option<String> {
    let Some(Lit::Int(number)) = literal(argument) else { return None };
    let unit = if number.suffix().is_empty() { "s" } else { number.suffix() };
    let written = format!("{}{unit}", number.base10_digits());
    milliseconds(&written).is_ok().then_some(written)
}

fn signed(input: ParseStream<'_>) -> syn::Result<i32> {
    let minus: Option<Token![-]> = input.parse()?;
    let number: LitInt = input.parse()?;
    let sign = if minus.is_some() { "-" } else { "" };
    format!("{sign}{}", number.base10_digits())
        .parse()
        .map_err(|_| syn::Error::new(number.span(), "out of range"))
}

/// Whether what has no key, or none that can be read, was to be the consumer.
pub(crate) fn is_meant_as_consumer(stray: &TokenStream) -> bool {
    let named = |token| matches!(token, TokenTree::Ident(word) if word == "consumer");
    stray_text(stray).is_some() || stray.clone().into_iter().any(named)
}

/// A string without its key: most likely the consumer.
pub(crate) fn stray_text(stray: &TokenStream) -> Option<LitStr> {
    syn::parse2(stray.clone()).ok()
}
