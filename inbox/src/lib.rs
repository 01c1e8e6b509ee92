//! placeholder
#[doc(hidden)]
pub mod __private;
mod cloud_events;
mod decode;
mod envelope;
mod error;
mod event;
mod handler;
mod message_id;
mod names;
mod outcome;
mod output;
mod permanent;
mod registration;
mod store;

pub use decode::DecodeError;
pub use envelope::{Envelope, EnvelopeId, Headers};
pub use error::{DispatchError, DispatchErrorKind, InvalidEnvelope};
pub use event::{IntegrationEvent, Upcast, UpcastFrom};
pub use handler::*;
pub use inbox_macros::{inbox_handler, integration_event};
pub use message_id::MessageId;
pub use outcome::Outcome;
pub use output::{HandlerOutput, IntoHandlerError};
pub use permanent::{Permanent, PermanentError, PermanentResult};
pub use registration::{DEFAULT_HANDLER_TIMEOUT, HandlerRegistration, linked_handlers};
pub use store::*;
extern crate self as inbox;
