//! `batch`: a handler of many messages at once.

use syn::{GenericArgument, Lit, PathArguments, PathSegment, Type};

use super::check::Candidate;
use super::input::{Parameter, peeled};
use crate::argument_rules::literal;
use crate::arguments::{Arguments, Value};
use crate::diagnostics::Errors;

/// How a batch handler is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Batch {
    /// Once for the messages of its event that follow each other.
    InOrder,
    /// Once for all messages of its event.
    InAnyOrder,
}

/// `batch`, or `batch = "any-order"`.
pub(super) fn batch(arguments: &Arguments) -> Option<Batch> {
    let argument = arguments.get("batch")?;
    match (&argument.value, literal(argument)) {
        (Value::Missing, _) => Some(Batch::InOrder),
        (_, Some(Lit::Str(text))) if text.value() == "any-order" => Some(Batch::InAnyOrder),
        _ => None,
    }
}

/// The `T` of `Vec<T>`.
pub(super) fn element(ty: &Type) -> Option<&Type> {
    let segment = last_segment(ty).filter(|segment| segment.ident == "Vec")?;
    last_type_argument(segment)
}

/// The event in what a batch handler takes for each message: `Delivered<'_, OrderPlaced>`, or the event.
pub(super) fn event_of(element: &Type) -> &Type {
    let delivered = last_segment(element).filter(|segment| segment.ident == "Delivered");
    delivered.and_then(last_type_argument).unwrap_or(element)
}

/// The parameter that is judged as the event: of a batch handler, what is in its `Vec`. None where it has
/// been told that this is no event.
pub(super) fn event<'c>(candidate: &'c Candidate) -> Option<Parameter<'c>> {
    let first = candidate.function.parameters().next()?;
    match (candidate.arguments.get("batch"), element(first.ty)) {
        (Some(_), Some(element)) => Some(Parameter { ty: peeled(event_of(element)), ..first }),
        (None, None) => Some(first),
        _ => None,
    }
}

/// `batch` has no value but `"any-order"`.
pub(super) fn the_batch_is_in_some_order(candidate: &Candidate, errors: &mut Errors) {
    let Some(argument) = candidate.arguments.get("batch") else { return };
    if batch(&candidate.arguments).is_none() {
        errors.on(
            argument,
            "write `batch` without a value, or `batch = \"any-order\"` where messages of other events may \
             come in between; how many messages a batch has is for who dispatches to say",
        );
    }
}

/// A batch handler takes a `Vec`, and no other handler does.
pub(super) fn a_batch_is_a_vec(candidate: &Candidate, errors: &mut Errors) {
    let Some(first) = candidate.function.parameters().next() else { return };
    match (candidate.arguments.get("batch"), element(first.ty)) {
        (Some(_), None) => errors.on(
            first.ty,
            "a batch handler takes its events first, as `Vec<OrderPlaced>`, or with their messages as \
             `Vec<Delivered<'_, OrderPlaced>>`",
        ),
        (None, Some(_)) => errors.on(
            first.ty,
            "a handler takes one event: write its type without `Vec`, or make it a batch handler, \
             `#[inbox_handler(consumer = \"…\", batch)]`",
        ),
        _ => {}
    }
}

/// What belongs to one message is taken beside its event.
pub(super) fn no_argument_is_of_one_message(candidate: &Candidate, errors: &mut Errors) {
    if candidate.arguments.get("batch").is_none() {
        return;
    }
    for parameter in candidate.function.parameters().skip(1) {
        let name = parameter.type_name().unwrap_or_default();
        if matches!(name.as_str(), "MessageId" | "DeliveryAttempt" | "Envelope" | "Headers") {
            errors.on(
                parameter.ty,
                "a batch has many messages: take `Vec<Delivered<'_, OrderPlaced>>`, which has each \
                 beside its event",
            );
        }
    }
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    let Type::Path(path) = peeled(ty) else { return None };
    path.path.segments.last()
}

fn last_type_argument(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    match arguments.args.last()? {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}
