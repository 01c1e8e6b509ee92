//! The rules for arguments that both attributes share.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::Lit;
use syn::parse::{Parse, Parser};

use crate::arguments::{Argument, Arguments, Value};
use crate::diagnostics::{Errors, nearest};

/// A comma stands between two arguments.
pub(crate) fn commas_stand_between(arguments: &Arguments, errors: &mut Errors) {
    for key in &arguments.without_comma {
        errors.on(key, format!("a comma is missing before `{key}`"));
    }
}

/// What to write for an argument that is no `key = value`: itself, where only its `=` is wrong, and
/// else `example`.
pub(crate) fn with_its_key(stray: &TokenStream, example: &str) -> String {
    let mut tokens = stray.clone().into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Ident(key)), Some(TokenTree::Punct(colon))) if colon.as_char() == ':' => {
            let value: TokenStream = tokens.collect();
            match syn::parse2::<Lit>(value) {
                Ok(value) => format!(
                    "`{key}` is assigned with `=`: write `{key} = {}`",
                    value.to_token_stream()
                ),
                Err(_) => format!("expected `key = value`, such as `{example}`"),
            }
        }
        _ => format!("expected `key = value`, such as `{example}`"),
    }
}

/// A key must be one the attribute knows.
pub(crate) fn keys_are_known(arguments: &Arguments, known: &[&str], errors: &mut Errors) {
    for Argument { key, .. } in &arguments.named {
        let written = key.to_string();
        if known.contains(&written.as_str()) {
            continue;
        }
        let advice = match nearest(&written, known) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the keys are {}", listed(known)),
        };
        errors.on(key, format!("unknown key `{written}`: {advice}"));
    }
}

/// A key is given once. The error reaches from the first place to the last.
pub(crate) fn keys_are_given_once(arguments: &Arguments, known: &[&str], errors: &mut Errors) {
    for known in known {
        let mut given = arguments.named.iter().filter(|argument| argument.key == known);
        let (Some(first), Some(last)) = (given.next(), given.next_back()) else { continue };
        let (first, last) = (&first.key, &last.key);
        errors.on(quote!(#first #last), format!("`{known}` is given twice: keep one of the two"));
    }
}

/// What is wrong with a value that had to be of another kind: `wanted` says which, `example` is
/// what to write.
pub(crate) fn wrong_value(argument: &Argument, wanted: &str, example: &str) -> String {
    let key = &argument.key;
    match &argument.value {
        Value::Assigned(value) if !value.is_empty() => {
            format!("`{key}` takes {wanted}: write `{example}`")
        }
        Value::List(_) => format!("`{key}` takes {wanted} after `=`: write `{example}`"),
        _ => format!("`{key}` has no value: write `{example}`"),
    }
}

/// The value as a literal.
pub(crate) fn literal(argument: &Argument) -> Option<Lit> {
    parsed(argument, <Lit as Parse>::parse)
}

/// The value, read by `parser`.
pub(crate) fn parsed<T>(
    argument: &Argument,
    parser: fn(syn::parse::ParseStream<'_>) -> syn::Result<T>,
) -> Option<T> {
    match &argument.value {
        Value::Assigned(value) => parser.parse2(value.clone()).ok(),
        _ => None,
    }
}

fn listed(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}
