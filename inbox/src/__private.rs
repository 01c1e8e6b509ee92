//! All that generated code may name. Not part of the API: it changes without notice.

use std::future::Future;

use crate::event::IntegrationEvent;
use crate::handler::{Argument, HandlerError, HandlerFuture};
use crate::names::MAX_CONSUMER_CHARS;
use crate::registration::{BatchCallFn, Call, CallFn, HandlerRegistration};

pub use crate::batch_handler::batch;
pub use crate::decode::{JsonEvent, decode_json};
pub use crate::event::decode_versions;
pub use crate::handler::FromDelivery;
pub use crate::names::{consumer_problem, event_type_problem};
pub use crate::output::HandlerOutput;
pub use crate::registration::downcast;
pub use inbox_macros::an_inbox_handler_is_a_free_function_outside_of_impl_and_trait_blocks;
pub use inventory;

/// A running handler, behind a pointer. A future that is not `Send` is refused here.
pub fn boxed<'run>(
    handler: impl Future<Output = Result<(), HandlerError>> + Send + 'run,
) -> HandlerFuture<'run> {
    Box::pin(handler)
}

/// The record of an annotated handler of `E`. `track_caller` makes the handler's name its
/// birthplace. Ends the compilation of a handler that takes no transaction context.
#[track_caller]
pub const fn registration<E: IntegrationEvent>(
    consumer: &'static str,
    name: &'static str,
    crate_name: &'static str,
    arguments: &'static [Argument],
    call: CallFn,
) -> HandlerRegistration {
    let call = Call::Each(call);
    a_transaction_is_among(arguments);
    HandlerRegistration::of_event::<E>(consumer, name, arguments, call).in_crate(crate_name)
}

/// The same of a batch handler.
#[track_caller]
pub const fn batch_registration<E: IntegrationEvent>(
    consumer: &'static str,
    name: &'static str,
    crate_name: &'static str,
    arguments: &'static [Argument],
    call: BatchCallFn,
) -> HandlerRegistration {
    let call = Call::Batch { call, in_any_order: false };
    a_transaction_is_among(arguments);
    HandlerRegistration::of_event::<E>(consumer, name, arguments, call).in_crate(crate_name)
}

#[track_caller]
#[expect(clippy::panic, reason = "ends a compilation")]
const fn a_transaction_is_among(arguments: &[Argument]) {
    let mut i = 0;
    while i < arguments.len() {
        if arguments[i].is_transaction {
            return;
        }
        i += 1;
    }
    panic!(
        "this handler takes no transaction context, so nothing it writes is committed together \
         with the message: add an argument such as `mut tx: SqliteTx<'_>` and write through `&mut *tx`; an \
         argument of your own that holds one says so in its `impl FromDelivery` with \
         `const IS_TRANSACTION: bool = true`"
    );
}

/// Ends the compilation of a handler whose last of these arguments is a transaction context and is
/// not the first.
#[track_caller]
#[expect(clippy::panic, reason = "ends a compilation")]
pub const fn check_no_second_transaction(are_transactions: &[bool]) {
    let [before @ .., true] = are_transactions else { return };
    let mut i = 0;
    while i < before.len() {
        if before[i] {
            panic!(
                "this handler takes a second transaction context, and a run has one transaction: \
                 keep one of the two, and lend a helper what it needs as `&mut *tx`"
            );
        }
        i += 1;
    }
}

/// Ends the compilation of a batch handler with an argument that is made of one message.
#[track_caller]
#[expect(clippy::panic, reason = "ends a compilation")]
pub const fn check_of_a_batch(of_a_batch: bool) {
    if !of_a_batch {
        panic!(
            "this argument is made of one message, and a batch has many: remove it, and take the events as \
             `Vec<inbox::Delivered<'_, OrderPlaced>>`, which pairs each with its message; an argument of your \
             own that reads no message says so in its `impl FromDelivery` with \
             `const OF_A_BATCH: bool = true`"
        );
    }
}

/// Ends the compilation of a handler whose consumer, a `const`, is no good name. `track_caller`
/// puts the error where the user wrote the path.
#[track_caller]
#[expect(clippy::panic, reason = "ends a compilation")]
pub const fn consumer(name: &'static str) -> &'static str {
    if consumer_problem(name).is_none() {
        return name;
    }
    if name.is_empty() {
        panic!("the consumer is empty: name the subscriber, such as `orders-service`");
    }
    if name.len() > MAX_CONSUMER_CHARS {
        panic!("the consumer is longer than 200 characters");
    }
    panic!("the consumer has a character other than A–Z a–z 0–9 . _ : / -");
}
