//! What makes a type an integration event. Each rule is one function with its sentence above it.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{GenericParam, LitStr, Type};

use super::arguments::{self, KEYS};
use super::input::Declaration;
use crate::argument_rules::{
    commas_stand_between, keys_are_given_once, keys_are_known, with_its_key, wrong_value,
};
use crate::arguments::Arguments;
use crate::diagnostics::Errors;
use crate::inbox_path::{InboxPath, the_inbox_can_be_named};
use crate::item::mentions;
use crate::names::event_type_problem;

/// A type that may become an event.
pub(super) struct Candidate {
    pub(super) arguments: Arguments,
    pub(super) declaration: Declaration,
}

/// An event: nothing can be wrong with it any more that a macro can see.
pub(super) struct Event<'c> {
    pub(super) inbox: InboxPath,
    pub(super) event_type: LitStr,
    pub(super) upcast_from: Vec<Type>,
    pub(super) declaration: &'c Declaration,
}

const OWNS_ITS_FIELDS: &str = "an event owns its fields, because it outlives the payload it is read \
                               from: write `String` for `&str` and `Vec<u8>` for `&[u8]`";

type Rule = fn(&Candidate, &mut Errors);

const RULES: &[Rule] = &[
    every_argument_has_a_key,
    every_argument_ends_at_a_comma,
    every_key_is_known,
    every_key_is_given_once,
    the_name_is_an_event_type,
    the_older_versions_are_types,
    no_older_version_is_named_twice,
    the_inbox_is_found,
    the_type_is_concrete,
    the_type_borrows_nothing,
    no_field_is_a_static_reference,
];

/// Runs all rules, so that all mistakes are told at once.
pub(super) fn check(candidate: &Candidate) -> Result<Event<'_>, Errors> {
    let mut errors = Errors::default();
    RULES.iter().for_each(|rule| rule(candidate, &mut errors));
    if !errors.is_empty() {
        return Err(errors);
    }
    let Candidate { arguments, declaration } = candidate;
    Ok(Event {
        inbox: InboxPath::find(arguments),
        event_type: event_type(candidate),
        upcast_from: arguments::upcast_from(arguments).unwrap_or_default(),
        declaration,
    })
}

/// The name it is given, or else the type's own.
pub(super) fn event_type(candidate: &Candidate) -> LitStr {
    let own = &candidate.declaration.name;
    arguments::name(&candidate.arguments)
        .unwrap_or_else(|| LitStr::new(&own.unraw().to_string(), own.span()))
}

/// Every argument is written `key = value` or `key(…)`.
fn every_argument_has_a_key(candidate: &Candidate, errors: &mut Errors) {
    for stray in &candidate.arguments.stray {
        match syn::parse2::<LitStr>(stray.clone()) {
            Ok(text) => {
                let literal = text.to_token_stream();
                errors.on(stray, format!("a value without its key: write `name = {literal}`"));
            }
            Err(_) => {
                errors.on(stray, with_its_key(stray, "name = \"orders.order-placed.v1\""));
            }
        }
    }
}

/// A comma stands between two arguments.
fn every_argument_ends_at_a_comma(candidate: &Candidate, errors: &mut Errors) {
    commas_stand_between(&candidate.arguments, errors);
}

/// There is no key but `name`, `upcast_from` and `crate`.
fn every_key_is_known(candidate: &Candidate, errors: &mut Errors) {
    keys_are_known(&candidate.arguments, &KEYS, errors);
}

/// No key is given twice.
fn every_key_is_given_once(candidate: &Candidate, errors: &mut Errors) {
    keys_are_given_once(&candidate.arguments, &KEYS, errors);
}

/// The name is a string literal that can be an event type.
fn the_name_is_an_event_type(candidate: &Candidate, errors: &mut Errors) {
    let Some(argument) = candidate.arguments.get("name") else { return };
    match arguments::name(&candidate.arguments) {
        Some(text) => {
            if let Some(problem) = event_type_problem(&text.value()) {
                errors.on(text, problem);
            }
        }
        None => errors.on(
            argument,
            wrong_value(argument, "a string literal", "name = \"orders.order-placed.v1\""),
        ),
    }
}

/// `upcast_from` lists types in parentheses.
fn the_older_versions_are_types(candidate: &Candidate, errors: &mut Errors) {
    let Some(argument) = candidate.arguments.get("upcast_from") else { return };
    if arguments::upcast_from(&candidate.arguments).is_none() {
        let example = arguments::assigned_types(argument);
        let example = example.unwrap_or_else(|| "OrderPlacedV1".to_owned());
        errors.on(
            argument,
            format!(
                "`upcast_from` lists the types of older versions, each with `#[integration_event]` \
                 and a `From` into this one: write `upcast_from({example})`"
            ),
        );
    }
}

/// An older version is named once, and is not the event itself.
fn no_older_version_is_named_twice(candidate: &Candidate, errors: &mut Errors) {
    let older = arguments::upcast_from(&candidate.arguments).unwrap_or_default();
    let mut seen = vec![candidate.declaration.name.to_string(), "Self".to_owned()];
    for ty in older {
        let written = ty.to_token_stream().to_string();
        match seen.iter().position(|seen| *seen == written) {
            Some(0 | 1) => {
                errors.on(&ty, "an event is not its own older version: remove it from the list");
            }
            Some(_) => errors.on(&ty, "this older version is listed twice: keep one of the two"),
            None => seen.push(written),
        }
    }
}

/// Generated code can name the inbox.
fn the_inbox_is_found(candidate: &Candidate, errors: &mut Errors) {
    the_inbox_can_be_named(&candidate.arguments, errors);
}

/// One event type is one Rust type, so it has no type parameters.
fn the_type_is_concrete(candidate: &Candidate, errors: &mut Errors) {
    let parameters = candidate.declaration.generics.params.iter();
    let types: Vec<_> = parameters.filter(|p| !matches!(p, GenericParam::Lifetime(_))).collect();
    if let (Some(first), Some(last)) = (types.first(), types.last()) {
        errors.on(
            quote!(#first #last),
            "an event has no type or const parameters, because each of its types would claim the one event \
             type: write a struct for each event, with a field of the generic type",
        );
    }
}

/// The payload is gone before the handler ends, so an event owns what it holds.
fn the_type_borrows_nothing(candidate: &Candidate, errors: &mut Errors) {
    for parameter in &candidate.declaration.generics.params {
        if let GenericParam::Lifetime(parameter) = parameter {
            errors.on(&parameter.lifetime, OWNS_ITS_FIELDS);
        }
    }
}

/// serde cannot make a `&'static str`. Not told where serde is asked to do otherwise with a field, or
/// where `Deserialize` is written by hand.
fn no_field_is_a_static_reference(candidate: &Candidate, errors: &mut Errors) {
    let declaration = &candidate.declaration;
    let derives = declaration.attributes.iter().filter(|a| a.path().is_ident("derive"));
    let is_derived = derives.into_iter().any(|a| mentions(a.to_token_stream(), "Deserialize"));
    let is_told_more = declaration.attributes.iter().any(|a| a.path().is_ident("serde"))
        || mentions(declaration.fields(), "serde");
    if let (true, false, Some(reference)) =
        (is_derived, is_told_more, static_reference(declaration.fields()))
    {
        errors.on(reference, OWNS_ITS_FIELDS);
    }
}

/// The first field's type that begins `&'static`.
fn static_reference(fields: TokenStream) -> Option<TokenStream> {
    let tokens: Vec<TokenTree> = fields.into_iter().collect();
    let is = |token: &TokenTree, sign| matches!(token, TokenTree::Punct(p) if p.as_char() == sign);
    let begun = tokens.windows(4).find(|next| {
        let [colon, and, quote, lifetime] = next else { return false };
        let is_static = matches!(lifetime, TokenTree::Ident(name) if name == "static");
        is(colon, ':') && is(and, '&') && is(quote, '\'') && is_static
    });
    match begun {
        Some(begun) => Some(begun.iter().skip(1).cloned().collect()),
        None => tokens.into_iter().find_map(|token| match token {
            TokenTree::Group(group) => static_reference(group.stream()),
            _ => None,
        }),
    }
}
