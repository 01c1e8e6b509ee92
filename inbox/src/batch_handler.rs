//! Handlers that take many messages at once.

use std::fmt;
use std::ops::Deref;

use crate::envelope::Envelope;
use crate::event::IntegrationEvent;
use crate::handler::{Argument, Delivery, HandlerError, HandlerFuture};
use crate::message_id::MessageId;
use crate::registration::{ErasedEvent, downcast};

/// A handler that is called once for many messages: what `#[inbox_handler(…, batch)]` generates, and what
/// is given to [`HandlerRegistration::batch`](crate::HandlerRegistration::batch).
///
/// ```
/// use inbox::{BatchHandler, Delivered, Delivery, HandlerFuture, HandlerRegistration};
/// # use inbox::integration_event;
/// # #[integration_event(name = "probe.ping.v1")]
/// # #[derive(serde::Deserialize)]
/// # struct Ping {}
///
/// struct Count;
///
/// impl BatchHandler for Count {
///     type Event = Ping;
///
///     fn call<'a>(pings: Vec<Delivered<'a, Ping>>, _: Delivery<'a>) -> HandlerFuture<'a> {
///         Box::pin(async move {
///             println!("{} pings, the first of them {}", pings.len(), pings[0].message_id);
///             Ok(())
///         })
///     }
/// }
///
/// let registration = HandlerRegistration::batch::<Count>("counter", "count");
/// ```
pub trait BatchHandler: 'static {
    /// The event this handler receives.
    type Event: IntegrationEvent;

    /// What it takes beside the events; see [`Handler::ARGUMENTS`](crate::Handler::ARGUMENTS).
    const ARGUMENTS: &'static [Argument] = &[];

    /// Runs the handler once, for one message at least.
    fn call<'a>(
        events: Vec<Delivered<'a, Self::Event>>,
        delivery: Delivery<'a>,
    ) -> HandlerFuture<'a>;
}

/// An event of a batch, with the message that it came in. Derefs to the event.
#[derive(Clone)]
#[non_exhaustive]
pub struct Delivered<'a, E> {
    /// The event.
    pub event: E,
    /// The message's id.
    pub message_id: MessageId,
    /// The message.
    pub envelope: &'a Envelope,
}

impl<E> Deref for Delivered<'_, E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.event
    }
}

/// The id: the event may show the payload.
impl<E> fmt::Debug for Delivered<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Delivered({})", self.message_id)
    }
}

/// What a batch handler takes for each message: the event, or [`Delivered`] with it.
#[diagnostic::on_unimplemented(
    message = "a batch handler takes its events as `Vec<{E}>` or as `Vec<Delivered<'_, {E}>>`, and not as `Vec<{Self}>`",
    label = "neither the event nor `Delivered<'_, {E}>`"
)]
pub trait FromDelivered<'a, E>: Sized {
    /// Keeps of it what is wanted.
    fn from_delivered(delivered: Delivered<'a, E>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E> FromDelivered<'_, E> for E {
    fn from_delivered(delivered: Delivered<'_, E>) -> Self {
        delivered.event
    }
}

#[diagnostic::do_not_recommend]
impl<'a, E> FromDelivered<'a, E> for Delivered<'a, E> {
    fn from_delivered(delivered: Self) -> Self {
        delivered
    }
}

/// One message of a call, its event erased.
pub(crate) type Item<'a> = Delivered<'a, ErasedEvent>;

/// Calls `H` with the events of its own type.
pub(crate) fn call<'a, H: BatchHandler>(
    items: Vec<Item<'a>>,
    delivery: Delivery<'a>,
) -> HandlerFuture<'a> {
    match batch::<H::Event, Delivered<'_, H::Event>>(items) {
        Ok(events) => H::call(events, delivery),
        Err(foreign) => Box::pin(std::future::ready(Err(foreign))),
    }
}

/// The events, each as the handler takes it.
///
/// # Errors
/// An event of another type.
pub fn batch<'a, E: 'static, T: FromDelivered<'a, E>>(
    items: Vec<Item<'a>>,
) -> Result<Vec<T>, HandlerError> {
    let read = |Delivered { event, message_id, envelope }: Item<'a>| {
        let event = downcast(event)?;
        Ok(T::from_delivered(Delivered { event, message_id, envelope }))
    };
    items.into_iter().map(read).collect()
}
