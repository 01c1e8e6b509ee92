//! [`IntegrationEvent`]: what a handler receives.

use std::any::Any;
use std::fmt;

use crate::decode::{DecodeError, JsonEvent, decode_json};
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
    label = "not an integration event",
    note = "an event is a struct or an enum with `#[integration_event(name = \"…\")]` and `#[derive(serde::Deserialize)]`; in a handler, it is the first argument, by value or by `&`"
)]
pub trait IntegrationEvent: Sized + Send + 'static {
    /// The stable name of the event on the wire: 1–255 characters without control characters.
    /// Renaming the Rust type must not change it.
    const EVENT_TYPE: &'static str;

    /// The older versions that [`decode`](Self::decode) reads as well: a handler of this event
    /// receives their event types too. What `upcast_from(…)` fills.
    const UPCASTS: &'static [Upcast] = &[];

    /// Reads the event from its payload. Runs before any transaction is opened, once per handler
    /// and run. The envelope's event type is `EVENT_TYPE`, or one that is reached over `UPCASTS`.
    ///
    /// # Errors
    /// A payload that is not such an event; retrying cannot help, so the message is dead-lettered.
    fn decode(envelope: &Envelope) -> Result<Self, DecodeError>;
}

/// An older version of an event, with the older versions of its own.
#[derive(Clone, Copy)]
pub struct Upcast {
    event_type: &'static str,
    // A function, and not the slice: two versions that upcast to each other would else be a const
    // that needs its own value. So they compile, and `build()` can name both.
    older: fn() -> &'static [Upcast],
    decode: fn(&Envelope) -> Result<Box<dyn Any>, DecodeError>,
}

impl Upcast {
    /// From the version `Old` to `New`.
    pub const fn new<Old: IntegrationEvent, New: UpcastFrom<Old>>() -> Self {
        Self {
            event_type: Old::EVENT_TYPE,
            older: || Old::UPCASTS,
            decode: |envelope| Ok(Box::new(New::upcast_from(Old::decode(envelope)?))),
        }
    }

    /// The older version's name on the wire.
    pub const fn event_type(&self) -> &'static str {
        self.event_type
    }

    /// What is older still, and read as this version first.
    pub fn older(&self) -> &'static [Upcast] {
        (self.older)()
    }

    fn accepts(&self, event_type: &str) -> bool {
        accepted_event_types(self.event_type, self.older()).contains(&event_type)
    }
}

/// The event type.
impl fmt::Debug for Upcast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.event_type)
    }
}

/// Every event type that reaches an event: its own first, then the older ones, each once.
pub(crate) fn accepted_event_types(
    own: &'static str,
    upcasts: &'static [Upcast],
) -> Vec<&'static str> {
    let (mut accepted, mut next) = (vec![own], upcasts.to_vec());
    while let Some(upcast) = next.pop() {
        if !accepted.contains(&upcast.event_type) {
            accepted.push(upcast.event_type);
            next.extend(upcast.older());
        }
    }
    accepted
}

/// A type that an older version converts into.
#[diagnostic::on_unimplemented(
    message = "`{Old}` cannot be turned into the newer event `{Self}`",
    label = "listed in `upcast_from`, so `{Self}` must be made from it",
    note = "write `impl From<{Old}> for {Self}`"
)]
pub trait UpcastFrom<Old>: Sized + 'static {
    /// Converts.
    fn upcast_from(older: Old) -> Self;
}

#[diagnostic::do_not_recommend]
impl<Old, New: From<Old> + 'static> UpcastFrom<Old> for New {
    fn upcast_from(older: Old) -> Self {
        older.into()
    }
}

/// Reads an event that is JSON and may be an older version of itself.
///
/// # Errors
/// A payload that is not of the version its event type says.
pub fn decode_versions<E: JsonEvent + IntegrationEvent>(
    envelope: &Envelope,
) -> Result<E, DecodeError> {
    let event_type = envelope.event_type();
    let older = E::UPCASTS.iter().find(|upcast| upcast.accepts(event_type));
    let Some(older) = older.filter(|_| event_type != E::EVENT_TYPE) else {
        return decode_json(envelope);
    };
    match (older.decode)(envelope)?.downcast() {
        Ok(event) => Ok(*event),
        Err(_) => Err(DecodeError::new("an older version was turned into another event")),
    }
}
