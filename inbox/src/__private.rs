//! All that generated code may name. Not part of the API: it changes without notice.

use std::future::Future;

use crate::handler::{Handler, HandlerError, HandlerFuture};
use crate::names::MAX_CONSUMER_CHARS;

pub use crate::decode::{JsonEvent, decode_json};
pub use crate::event::decode_versions;
pub use crate::names::{consumer_problem, event_type_problem};
pub use inventory;

/// A running handler, behind a pointer. A future that is not `Send` is refused here.
pub fn boxed<'run>(
    handler: impl Future<Output = Result<(), HandlerError>> + Send + 'run,
) -> HandlerFuture<'run> {
    Box::pin(handler)
}

/// Ends the compilation of a handler whose consumer, a `const`, is no good name. `track_caller`
/// puts the error where the user wrote the path.
#[track_caller]
#[expect(clippy::panic, reason = "ends a compilation")]
pub const fn check_consumer(name: &str) {
    if consumer_problem(name).is_none() {
        return;
    }
    if name.is_empty() {
        panic!("the consumer is empty: name the subscriber, such as `orders-service`");
    }
    if name.len() > MAX_CONSUMER_CHARS {
        panic!("the consumer is longer than 200 characters");
    }
    panic!("the consumer has a character other than A–Z a–z 0–9 . _ : / -");
}

/// Ends the compilation of a handler that takes no transaction context.
#[track_caller]
#[expect(clippy::panic, reason = "ends a compilation")]
pub const fn check_transaction<H: Handler>() {
    let mut i = 0;
    while i < H::ARGUMENTS.len() {
        if H::ARGUMENTS[i].is_transaction {
            return;
        }
        i += 1;
    }
    panic!(
        "this handler takes no transaction context, so nothing it writes is committed together \
         with the message: add an argument such as `mut tx: SqliteTx<'_>` and write through `&mut *tx`"
    );
}

/// Ends the compilation of a handler whose argument at `index` is a transaction context and is not
/// the first.
#[track_caller]
#[expect(clippy::panic, reason = "ends a compilation")]
pub const fn check_no_second_transaction<H: Handler>(index: usize) {
    let mut i = 0;
    while i < index {
        if H::ARGUMENTS[i].is_transaction && H::ARGUMENTS[index].is_transaction {
            panic!(
                "this handler takes a second transaction context, and a run has one transaction: \
                 remove it, and pass the first on as `&mut *tx`"
            );
        }
        i += 1;
    }
}
