//! The rules for a handler's parameters. What a type *is* only rustc knows: that is left to the
//! traits the generated code asks for. These rules see what is written, and no two of them see the
//! same mistake.

use proc_macro2::{Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{GenericArgument, PathArguments, Type};

use super::check::Candidate;
use super::input::{Parameter, behind_references};
use crate::diagnostics::Errors;

/// The first parameter is the event.
pub(super) fn the_event_is_there(candidate: &Candidate, errors: &mut Errors) {
    let function = &candidate.function;
    if function.signature.inputs.is_empty() {
        errors.at(
            function.signature.paren_token.span.join(),
            "an inbox handler takes its event first: write `(event: OrderPlaced, …)`",
        );
    }
}

/// What the library itself has for later places does not stand in the first.
pub(super) fn the_event_comes_first(candidate: &Candidate, errors: &mut Errors) {
    if let Some(first) = candidate.function.parameters().next().filter(comes_after_the_event) {
        errors.on(
            first.ty,
            "the event comes first: write `(event: OrderPlaced, …)` and this after it",
        );
    }
}

/// The event borrows nothing, and is taken by value or by `&`.
pub(super) fn the_event_is_owned(candidate: &Candidate, errors: &mut Errors) {
    let Some(event) = candidate.function.parameters().next() else { return };
    if mentions_impl(event.ty) || comes_after_the_event(&event) {
        return;
    }
    if is_mut_reference(event.ty) {
        errors.on(
            event.ty,
            "the first argument is the event, by value or by `&`: a change to it would go nowhere",
        );
    } else if borrows(behind_references(event.ty)) {
        errors.on(
            event.ty,
            "the first argument is the event, and an event borrows nothing: put the event first, \
             and what borrows from the delivery after it",
        );
    }
}

/// A parameter is there under every configuration.
pub(super) fn no_parameter_is_conditional(candidate: &Candidate, errors: &mut Errors) {
    for parameter in candidate.function.parameters() {
        let is_cfg = |name| name == "cfg" || name == "cfg_attr";
        let cfg = parameter.attributes.iter().find(|attribute| {
            attribute.path().get_ident().is_some_and(|name| is_cfg(name.to_string()))
        });
        if let Some(cfg) = cfg {
            errors.on(
                cfg,
                "a handler's argument cannot be conditional: write two handlers, each under its \
                 own `#[cfg]`",
            );
        }
    }
}

/// A parameter has a type that can be named.
pub(super) fn no_parameter_is_impl_trait(candidate: &Candidate, errors: &mut Errors) {
    for parameter in candidate.function.parameters().filter(|p| mentions_impl(p.ty)) {
        errors.on(
            parameter.ty,
            "a handler's argument has a concrete type: the inbox makes it, so it must know which",
        );
    }
}

/// The transaction context is taken by value: it is a borrow already.
pub(super) fn the_transaction_is_taken_by_value(candidate: &Candidate, errors: &mut Errors) {
    for parameter in candidate.function.parameters().skip(1) {
        let is_reference = matches!(parameter.ty, Type::Reference(_));
        if let (true, Some(name)) = (is_reference, transaction(parameter)) {
            errors.on(
                parameter.ty,
                format!(
                    "the transaction context is taken by value: write `mut tx: {name}<'_>` and use \
                     it as `&mut *tx`"
                ),
            );
        }
    }
}

/// The transaction context lives as long as the run, not for ever.
pub(super) fn the_transaction_has_no_static_lifetime(candidate: &Candidate, errors: &mut Errors) {
    for parameter in candidate.function.parameters().skip(1) {
        let Type::Path(path) = parameter.ty else { continue };
        let Some(name) = transaction(parameter) else { continue };
        let Some(segment) = path.path.segments.last() else { continue };
        let PathArguments::AngleBracketed(arguments) = &segment.arguments else { continue };
        for argument in &arguments.args {
            if let GenericArgument::Lifetime(lifetime) = argument
                && lifetime.ident == "static"
            {
                errors.on(
                    lifetime,
                    format!(
                        "the transaction ends with the run, so its context cannot be `'static`: \
                         write `mut tx: {name}<'_>`"
                    ),
                );
            }
        }
    }
}

/// Nothing is lent to a handler for changing but the transaction.
pub(super) fn nothing_else_is_taken_by_mut_reference(candidate: &Candidate, errors: &mut Errors) {
    for parameter in candidate.function.parameters().skip(1) {
        let told = transaction(parameter).is_some() || mentions_impl(parameter.ty);
        if is_mut_reference(parameter.ty) && !told {
            errors.on(
                parameter.ty,
                "the inbox lends nothing by `&mut`: take the store's transaction context by value, \
                 such as `mut tx: SqliteTx<'_>`, and use it as `&mut *tx`",
            );
        }
    }
}

/// The type's name, where it is called as transaction contexts are.
fn transaction(parameter: Parameter<'_>) -> Option<String> {
    let name = parameter.type_name()?;
    (name.ends_with("Tx") || name.ends_with("Transaction")).then_some(name)
}

/// Whether the type is called as what the inbox hands to handlers beside the event.
fn comes_after_the_event(parameter: &Parameter<'_>) -> bool {
    let borrows = borrows(parameter.ty);
    match parameter.type_name().as_deref() {
        Some("State" | "MessageId" | "ConsumerName" | "DeliveryAttempt") => true,
        Some("Envelope" | "Headers") => borrows,
        _ => transaction(*parameter).is_some() && borrows,
    }
}

fn is_mut_reference(ty: &Type) -> bool {
    matches!(ty, Type::Reference(reference) if reference.mutability.is_some())
}

fn mentions_impl(ty: &Type) -> bool {
    any_token(
        ty.to_token_stream(),
        &mut |token, _| matches!(token, TokenTree::Ident(word) if word == "impl"),
    )
}

/// Whether the type has a lifetime other than `'static`, or a reference without one.
fn borrows(ty: &Type) -> bool {
    any_token(ty.to_token_stream(), &mut |token, next| match (token, next) {
        (TokenTree::Punct(quote), Some(TokenTree::Ident(lifetime)))
            if quote.as_char() == '\'' && quote.spacing() == Spacing::Joint =>
        {
            lifetime != "static"
        }
        (TokenTree::Punct(and), next) if and.as_char() == '&' => {
            !matches!(next, Some(TokenTree::Punct(quote)) if quote.as_char() == '\'')
        }
        _ => false,
    })
}

/// Whether `found` holds for a token, told with the token after it.
fn any_token(
    tokens: TokenStream,
    found: &mut impl FnMut(&TokenTree, Option<&TokenTree>) -> bool,
) -> bool {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let inside = match &token {
            TokenTree::Group(group) => any_token(group.stream(), found),
            _ => found(&token, tokens.peek()),
        };
        if inside {
            return true;
        }
    }
    false
}
