//! The rules for a handler's parameters. What a type *is* only rustc knows: that is left to the
//! traits the generated code asks for. These rules see what is written, and no two of them see the
//! same mistake.

use proc_macro2::{Spacing, TokenTree};
use quote::ToTokens;
use syn::{GenericArgument, PathArguments, Type};

use super::batch::event;
use super::check::Candidate;
use super::input::{Parameter, behind_references};
use crate::diagnostics::Errors;
use crate::item::{any_token, mentions};

/// The first parameter is the event.
pub(super) fn the_event_is_there(candidate: &Candidate, errors: &mut Errors) {
    let function = &candidate.function;
    if function.signature.inputs.is_empty() {
        errors.at(
            function.signature.paren_token.span.join(),
            "an inbox handler takes its event first, then its store's transaction context: write \
             `(event: OrderPlaced, mut tx: SqliteTx<'_>)`",
        );
    }
}

/// What the library itself has for later places does not stand in the first.
pub(super) fn the_event_comes_first(candidate: &Candidate, errors: &mut Errors) {
    if let Some(first) = event(candidate).filter(comes_after_the_event) {
        let text = match candidate.arguments.get("batch") {
            Some(_) => {
                "the events come first, in a `Vec`: write `(events: Vec<OrderPlaced>, …)`, and put this \
                 argument after them, not in a `Vec`"
            }
            None => {
                "the event comes first: write `(event: OrderPlaced, …)`, and put this argument after it"
            }
        };
        errors.on(first.ty, text);
    }
}

/// The event is not the payload, or what cannot be a struct or an enum.
pub(super) fn the_event_is_a_type_of_known_size(candidate: &Candidate, errors: &mut Errors) {
    let Some(event) = event(candidate) else { return };
    let unsized_type = match behind_references(event.ty) {
        Type::Slice(_) | Type::TraitObject(_) => true,
        Type::Path(path) => path.path.is_ident("str"),
        _ => false,
    };
    if unsized_type && !is_mut_reference(event.ty) {
        errors.on(
            event.ty,
            "the first argument is the event: a struct or an enum with `#[integration_event]`; the \
             payload as it came is `envelope.payload()` of an argument `envelope: &Envelope` after it",
        );
    }
}

/// The event borrows nothing, and is taken by value or by `&`.
pub(super) fn the_event_is_owned(candidate: &Candidate, errors: &mut Errors) {
    let Some(event) = event(candidate) else { return };
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
            "the first argument is the event, which borrows nothing: write its type, or `&` and its \
             type, and after it what borrows from the delivery",
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
            errors.on(parameter.ty, told_instead_of_mut(&parameter));
        }
    }
}

fn told_instead_of_mut(parameter: &Parameter<'_>) -> &'static str {
    match parameter.type_name().as_deref() {
        Some("State") => {
            "each run has a clone of its own: take the `State` by value, and keep what changes in \
             an `Arc<Mutex<…>>`"
        }
        Some("Envelope" | "Headers") => "the message is only read: take it by `&`",
        _ if parameter.is_called_as_ours() => "this is a copy for one run: take it by value",
        _ => {
            "the inbox lends nothing by `&mut`: take the store's transaction context by value, \
             such as `mut tx: SqliteTx<'_>`, and use it as `&mut *tx`"
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
    parameter.is_called_as_ours() || transaction(*parameter).is_some() && borrows(parameter.ty)
}

impl Parameter<'_> {
    /// Whether the type is called as an argument of the library itself that is no transaction.
    pub(super) fn is_called_as_ours(&self) -> bool {
        match self.type_name().as_deref() {
            Some("State" | "MessageId" | "ConsumerName" | "DeliveryAttempt" | "Deadline") => true,
            Some("Envelope" | "Headers") => borrows(self.ty),
            _ => false,
        }
    }
}

fn is_mut_reference(ty: &Type) -> bool {
    matches!(ty, Type::Reference(reference) if reference.mutability.is_some())
}

fn mentions_impl(ty: &Type) -> bool {
    mentions(ty.to_token_stream(), "impl")
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
