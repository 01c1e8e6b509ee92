//! What a handler may return.

use crate::handler::HandlerError;

/// What a handler may return.
#[diagnostic::on_unimplemented(
    message = "an inbox handler returns `Result<(), E>`, and this one returns `{Self}`",
    label = "write `Result<(), E>`",
    note = "`E` is any error that converts into `Box<dyn Error + Send + Sync>`: a `std` or `thiserror` error, `anyhow::Error`, `String`, or `inbox::HandlerError` itself; the body ends with `Ok(())`"
)]
pub trait HandlerOutput {
    /// The same, with the error boxed.
    ///
    /// # Errors
    /// The handler's own.
    fn into_result(self) -> Result<(), HandlerError>;
}

impl<E: IntoHandlerError> HandlerOutput for Result<(), E> {
    fn into_result(self) -> Result<(), HandlerError> {
        self.map_err(E::into_handler_error)
    }
}

/// What a handler may fail with: whatever converts into a [`HandlerError`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of an inbox handler",
    label = "does not convert into `Box<dyn Error + Send + Sync>`",
    note = "return `Result<(), inbox::HandlerError>`: every error that is `Send + Sync + 'static` converts into it with `?`, and so does a `String`; a `Box<dyn Error>` does not: write `Box<dyn Error + Send + Sync>`",
    note = "or, for a type of your own, implement `std::error::Error` with `#[derive(Debug, thiserror::Error)]` or by hand; if it is implemented, something in it is not `Send + Sync + 'static`, such as an `Rc`"
)]
pub trait IntoHandlerError {
    /// The error, boxed.
    fn into_handler_error(self) -> HandlerError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<HandlerError>> IntoHandlerError for E {
    fn into_handler_error(self) -> HandlerError {
        self.into()
    }
}
