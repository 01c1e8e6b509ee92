//! What makes a function a handler. Each rule is one function with its sentence above it.

use proc_macro2::Span;
use quote::ToTokens;

use super::arguments::{self, Consumer, KEYS};
use super::batch::{self, Batch};
use super::input::Function;
use super::parameter_rules as parameters;
use crate::argument_rules::{
    commas_stand_between, keys_are_given_once, keys_are_known, with_its_key, wrong_value,
};
use crate::arguments::Arguments;
use crate::diagnostics::{Errors, nearest};
use crate::duration::milliseconds;
use crate::inbox_path::{InboxPath, the_inbox_can_be_named};
use crate::item::mentions;
use crate::names::consumer_problem;

/// A function that may become a handler.
pub(super) struct Candidate {
    pub(super) arguments: Arguments,
    pub(super) function: Function,
}

/// A handler: nothing can be wrong with it any more that a macro can see.
pub(super) struct Handler<'c> {
    pub(super) inbox: InboxPath,
    pub(super) consumer: Consumer,
    pub(super) timeout_ms: Option<u64>,
    pub(super) order: Option<i32>,
    pub(super) batch: Option<Batch>,
    pub(super) function: &'c Function,
}

type Rule = fn(&Candidate, &mut Errors);

const RULES: &[Rule] = &[
    every_argument_has_a_key,
    every_argument_ends_at_a_comma,
    every_key_is_known,
    every_key_is_given_once,
    the_consumer_is_given,
    the_consumer_is_a_name,
    the_timeout_is_a_duration,
    the_order_is_a_number,
    batch::the_batch_is_in_some_order,
    the_inbox_is_found,
    the_function_is_async,
    the_function_is_safe_rust,
    the_function_is_free,
    the_function_is_concrete,
    the_function_has_a_body,
    parameters::the_event_is_there,
    batch::a_batch_is_a_vec,
    batch::no_argument_is_of_one_message,
    parameters::the_event_comes_first,
    parameters::the_event_is_a_type_of_known_size,
    parameters::the_event_is_owned,
    parameters::no_parameter_is_conditional,
    parameters::no_parameter_is_impl_trait,
    parameters::the_transaction_is_taken_by_value,
    parameters::the_transaction_has_no_static_lifetime,
    parameters::nothing_else_is_taken_by_mut_reference,
    the_function_returns_a_result,
];

/// Runs all rules, so that all mistakes are told at once.
pub(super) fn check(candidate: &Candidate) -> Result<Handler<'_>, Errors> {
    let mut errors = Errors::default();
    RULES.iter().for_each(|rule| rule(candidate, &mut errors));
    let Candidate { arguments, function } = candidate;
    match arguments::consumer(arguments) {
        Some(consumer) if errors.is_empty() => Ok(Handler {
            inbox: InboxPath::find(arguments),
            consumer,
            timeout_ms: arguments::timeout(arguments)
                .and_then(|text| milliseconds(&text.value()).ok()),
            order: arguments::order(arguments),
            batch: batch::batch(arguments),
            function,
        }),
        _ => Err(errors),
    }
}

/// Every argument is written `key = value`.
fn every_argument_has_a_key(candidate: &Candidate, errors: &mut Errors) {
    for stray in &candidate.arguments.stray {
        match arguments::stray_text(stray) {
            Some(text) => {
                let literal = text.to_token_stream();
                errors.on(stray, format!("a value without its key: write `consumer = {literal}`"));
            }
            None => errors.on(stray, with_its_key(stray, "consumer = \"orders-service\"")),
        }
    }
}

/// A comma stands between two arguments.
fn every_argument_ends_at_a_comma(candidate: &Candidate, errors: &mut Errors) {
    commas_stand_between(&candidate.arguments, errors);
}

/// There is no key but `consumer`, `timeout`, `order`, `batch` and `crate`.
fn every_key_is_known(candidate: &Candidate, errors: &mut Errors) {
    keys_are_known(&candidate.arguments, &KEYS, errors);
}

/// No key is given twice.
fn every_key_is_given_once(candidate: &Candidate, errors: &mut Errors) {
    keys_are_given_once(&candidate.arguments, &KEYS, errors);
}

/// A handler names its consumer. Not told where a slip has been told that was meant to be it.
fn the_consumer_is_given(candidate: &Candidate, errors: &mut Errors) {
    let Candidate { arguments, .. } = candidate;
    let means_it = |key: String| nearest(&key, &KEYS) == Some("consumer");
    let given = arguments.named.iter().any(|argument| means_it(argument.key.to_string()));
    if given || arguments.stray.iter().any(arguments::is_meant_as_consumer) {
        return;
    }
    errors.at(
        Span::call_site(),
        "which consumer is this a handler of? write `#[inbox_handler(consumer = \"orders-service\")]`",
    );
}

/// The consumer is a string literal that is a good name, or the path of a `const` that holds one.
fn the_consumer_is_a_name(candidate: &Candidate, errors: &mut Errors) {
    let Some(argument) = candidate.arguments.get("consumer") else { return };
    match arguments::consumer(&candidate.arguments) {
        Some(Consumer::Literal(text)) => {
            if let Some(problem) = consumer_problem(&text.value()) {
                errors.on(text, problem);
            }
        }
        Some(Consumer::Const(_)) => {} // rustc evaluates it
        None if arguments::is_list(argument) => errors.on(
            argument,
            "a handler has one consumer: for two, write the attribute twice, once with each",
        ),
        None => errors.on(
            argument,
            wrong_value(
                argument,
                "a string literal or the path of a `const` of type `&str`",
                "consumer = \"orders-service\"",
            ),
        ),
    }
}

/// The timeout is a string literal such as `"30s"`.
fn the_timeout_is_a_duration(candidate: &Candidate, errors: &mut Errors) {
    let Some(argument) = candidate.arguments.get("timeout") else { return };
    match arguments::timeout(&candidate.arguments) {
        Some(text) => {
            if let Err(problem) = milliseconds(&text.value()) {
                errors.on(text, problem);
            }
        }
        None => {
            let example = arguments::as_timeout(argument).unwrap_or_else(|| "30s".to_owned());
            let example = format!("timeout = \"{example}\"");
            errors.on(argument, wrong_value(argument, "a string literal", &example));
        }
    }
}

/// The order is a whole number that fits an `i32`.
fn the_order_is_a_number(candidate: &Candidate, errors: &mut Errors) {
    let Some(argument) = candidate.arguments.get("order") else { return };
    if arguments::order(&candidate.arguments).is_some() {
        return;
    }
    if arguments::is_whole_number(argument) {
        errors.on(argument, "`order` is an `i32`: -2147483648 to 2147483647, lower runs first");
    } else {
        errors.on(argument, wrong_value(argument, "a literal whole number", "order = 10"));
    }
}

/// Generated code can name the inbox.
fn the_inbox_is_found(candidate: &Candidate, errors: &mut Errors) {
    the_inbox_can_be_named(&candidate.arguments, errors);
}

/// A handler is an `async fn`.
fn the_function_is_async(candidate: &Candidate, errors: &mut Errors) {
    let signature = &candidate.function.signature;
    if signature.asyncness.is_some() {
        return;
    }
    match &signature.constness {
        Some(constness) => {
            errors.on(constness, "an inbox handler is an `async fn`: write `async` for `const`");
        }
        None if mentions(signature.output.to_token_stream(), "Future") => errors.at(
            signature.fn_token.span,
            "an inbox handler is an `async fn`: write `async fn`, and the future's `Output` as its \
             return type",
        ),
        None => {
            errors
                .at(signature.fn_token.span, "an inbox handler is an `async fn`: write `async fn`");
        }
    }
}

/// The inbox calls a handler as ordinary Rust.
fn the_function_is_safe_rust(candidate: &Candidate, errors: &mut Errors) {
    let signature = &candidate.function.signature;
    let safety = signature.safety.to_token_stream();
    if !safety.is_empty() {
        errors.on(
            safety,
            "the inbox cannot keep the promises an `unsafe fn` asks for: remove `unsafe`, and keep \
             it in a block inside",
        );
    }
    if let Some(abi) = &signature.abi {
        errors.on(abi, "the inbox calls its handlers from Rust: remove `extern`");
    }
    if let Some(variadic) = &signature.variadic {
        errors.on(variadic, "an inbox handler has a fixed list of arguments: remove `...`");
    }
}

/// A handler has no `self`.
fn the_function_is_free(candidate: &Candidate, errors: &mut Errors) {
    if let Some(receiver) = candidate.function.signature.receiver() {
        errors.on(
            receiver,
            "an inbox handler is a free function: move it out of the `impl` block, and take what \
             `self` gave it as `State<T>` with a `T: Clone + Send + Sync`",
        );
    }
}

/// A handler is generic over lifetimes at most: a registration holds one function.
fn the_function_is_concrete(candidate: &Candidate, errors: &mut Errors) {
    let generics = &candidate.function.signature.generics;
    let types = generics.params.iter().filter(|p| !matches!(p, syn::GenericParam::Lifetime(_)));
    let types: Vec<_> = types.collect();
    if let (Some(first), Some(last)) = (types.first(), types.last()) {
        errors.on(
            quote::quote!(#first #last),
            "an inbox handler has no type or const parameters, because one concrete function is registered: \
             write a handler for each type and let them call a generic function",
        );
    }
}

/// A handler is not a declaration in a trait.
fn the_function_has_a_body(candidate: &Candidate, errors: &mut Errors) {
    let function = &candidate.function;
    if !function.has_body() {
        errors.at(
            function.span(),
            "an inbox handler is a free function with a body: move it out of the trait",
        );
    }
}

/// A handler returns a `Result`. Which one, rustc checks through `HandlerOutput`.
fn the_function_returns_a_result(candidate: &Candidate, errors: &mut Errors) {
    let signature = &candidate.function.signature;
    if matches!(signature.output, syn::ReturnType::Default) {
        errors.at(
            signature.paren_token.span.close(),
            "an inbox handler says how it ended: write `-> Result<(), inbox::HandlerError>`, or \
             with an error type of your own, and end with `Ok(())`",
        );
    } else if signature.asyncness.is_some() && mentions(signature.output.to_token_stream(), "impl")
    {
        errors.on(
            &signature.output,
            "an inbox handler returns a concrete type: write `-> Result<(), inbox::HandlerError>`",
        );
    }
}
