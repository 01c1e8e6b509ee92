//! The rules for arguments that both attributes share.

use quote::quote;
use syn::Lit;
use syn::parse::{Parse, Parser};

use crate::arguments::{Argument, Arguments, Value};
use crate::diagnostics::{Errors, nearest};

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
