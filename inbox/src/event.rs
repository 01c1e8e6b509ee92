//! [`IntegrationEvent`]: what a handler receives.

use crate::decode::DecodeError;
use crate::envelope::Envelope;

/// A typed fact another service published.
///
/// Write `#[integration_event(name = "…")]` on a type that implements `serde::Deserialize`; by hand
/// it is only needed for payloads that are not JSON:
///
/// ```
/// use inbox::{DecodeError, Envelope, IntegrationEvent};
///
/// struct Ping(u8);
///
/// impl IntegrationEvent for Ping {
///     const EVENT_TYPE: &'static str = "probe.ping.v1";
///
///     fn decode(envelope: &Envelope) -> Result<Self, DecodeError> {
///         match envelope.payload() {
///             [byte] => Ok(Ping(*byte)),
///             _ => Err(DecodeError::new("a ping is one byte")),
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an integration event",
    label = "the first argument of a handler is the event",
    note = "write `#[integration_event(name = \"…\")]` on `{Self}`, or move the event to the first place"
)]
pub trait IntegrationEvent: Sized + Send + 'static {
    /// The stable name of the event on the wire: 1–255 characters without control characters.
    /// Renaming the Rust type must not change it.
    const EVENT_TYPE: &'static str;

    /// Reads the event from its payload. Runs before any transaction is opened, once per handler
    /// and run.
    ///
    /// # Errors
    /// A payload that is not such an event; retrying cannot help, so the message is dead-lettered.
    fn decode(envelope: &Envelope) -> Result<Self, DecodeError>;
}
