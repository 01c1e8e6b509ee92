//! [`HandlerRegistration`]: the record a handler leaves in the binary.

use std::any::{Any, TypeId};
use std::fmt;
use std::panic::Location;
use std::time::Duration;

use crate::batch_handler::{self, BatchHandler, Item};
use crate::decode::DecodeError;
use crate::envelope::Envelope;
use crate::event::{IntegrationEvent, Upcast, accepted_event_types};
use crate::handler::{Argument, Delivery, Handler, HandlerError, HandlerFuture};

/// The timeout of a handler that sets none.
pub const DEFAULT_HANDLER_TIMEOUT: Duration = Duration::from_secs(30);

/// One handler of one consumer, with its birthplace. `#[inbox_handler]` submits one at link time.
#[derive(Clone, Copy)]
pub struct HandlerRegistration {
    pub(crate) consumer: &'static str,
    pub(crate) name: &'static str,
    pub(crate) event_type: &'static str,
    pub(crate) upcasts: &'static [Upcast],
    pub(crate) order: i32,
    pub(crate) timeout: Duration,
    pub(crate) crate_name: &'static str,
    pub(crate) location: &'static Location<'static>,
    pub(crate) event_id: fn() -> TypeId,
    pub(crate) arguments: &'static [Argument],
    pub(crate) decode: DecodeFn,
    pub(crate) call: Call,
}

/// How a handler is called.
#[derive(Clone, Copy)]
pub(crate) enum Call {
    /// Once for each message.
    Each(CallFn),
    /// Once for many.
    Batch { call: BatchCallFn, in_any_order: bool },
}

/// A decoded event on its way from `decode` to `call`.
pub(crate) type ErasedEvent = Box<dyn Any + Send>;
type DecodeFn = fn(&Envelope) -> Result<ErasedEvent, DecodeError>;
/// Runs a handler once, with an event of its type.
pub(crate) type CallFn = for<'a> fn(ErasedEvent, Delivery<'a>) -> HandlerFuture<'a>;
/// The same, with events of many messages.
pub(crate) type BatchCallFn = for<'a> fn(Vec<Item<'a>>, Delivery<'a>) -> HandlerFuture<'a>;

inventory::collect!(HandlerRegistration);

impl HandlerRegistration {
    /// A handler called `name` of `consumer`. Its birthplace is the caller's file and line.
    #[track_caller]
    pub const fn new<H: Handler>(consumer: &'static str, name: &'static str) -> Self {
        Self::of_event::<H::Event>(consumer, name, H::ARGUMENTS, Call::Each(call::<H>))
    }

    /// The same, called once for all messages of its event that follow each other in a batch.
    #[track_caller]
    pub const fn batch<H: BatchHandler>(consumer: &'static str, name: &'static str) -> Self {
        let call = Call::Batch { call: batch_handler::call::<H>, in_any_order: false };
        Self::of_event::<H::Event>(consumer, name, H::ARGUMENTS, call)
    }

    /// For a batch handler: called once for all messages of its event in a batch, also where messages of
    /// other events were delivered between them.
    pub const fn in_any_order(mut self) -> Self {
        if let Call::Batch { call, .. } = self.call {
            self.call = Call::Batch { call, in_any_order: true };
        }
        self
    }

    /// A handler of `E`. `call` is only given events of this type.
    #[track_caller]
    pub(crate) const fn of_event<E: IntegrationEvent>(
        consumer: &'static str,
        name: &'static str,
        arguments: &'static [Argument],
        call: Call,
    ) -> Self {
        Self {
            consumer,
            name,
            event_type: E::EVENT_TYPE,
            upcasts: E::UPCASTS,
            order: 0,
            timeout: DEFAULT_HANDLER_TIMEOUT,
            crate_name: "",
            location: Location::caller(),
            event_id: TypeId::of::<E>,
            arguments,
            decode: decode::<E>,
            call,
        }
    }

    /// Where it runs among the handlers of one event: lower first, then by name. 0 unless set.
    pub const fn with_order(mut self, order: i32) -> Self {
        self.order = order;
        self
    }

    /// How long one run may take; 30 seconds unless set.
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The crate it was written in, for listings.
    pub const fn in_crate(mut self, crate_name: &'static str) -> Self {
        self.crate_name = crate_name;
        self
    }

    /// The consumer it belongs to.
    pub const fn consumer(&self) -> &'static str {
        self.consumer
    }

    /// Its name: the annotated function's.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The event type it handles.
    pub const fn event_type(&self) -> &'static str {
        self.event_type
    }

    /// Every event type that reaches it: its event's own first, then those of older versions.
    pub fn accepted_event_types(&self) -> Vec<&'static str> {
        accepted_event_types(self.event_type, self.upcasts)
    }

    /// Where it runs among the handlers of one event.
    pub const fn order(&self) -> i32 {
        self.order
    }

    /// How long one run may take.
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The crate it was written in; empty where unknown.
    pub const fn crate_name(&self) -> &'static str {
        self.crate_name
    }

    /// The file and line it was written at.
    pub const fn location(&self) -> &'static Location<'static> {
        self.location
    }

    /// The order in which handlers run and are listed; link order differs between builds and is
    /// never used.
    pub(crate) fn sort_key(&self) -> impl Ord + use<> {
        let place = (self.crate_name, self.location.file(), self.location.line());
        (self.consumer, self.event_type, self.order, self.name, place)
    }

    /// Where it was written, for messages. Only written out where there is something to tell.
    pub(crate) fn birthplace(&self) -> impl fmt::Display + use<> {
        let (file, line, crate_name) =
            (self.location.file(), self.location.line(), self.crate_name);
        fmt::from_fn(move |f| match crate_name {
            "" => write!(f, "{file}:{line}"),
            name => write!(f, "{file}:{line} (crate {name})"),
        })
    }
}

fn decode<E: IntegrationEvent>(envelope: &Envelope) -> Result<ErasedEvent, DecodeError> {
    Ok(Box::new(E::decode(envelope)?))
}

fn call<H: Handler>(event: ErasedEvent, delivery: Delivery<'_>) -> HandlerFuture<'_> {
    match downcast(event) {
        Ok(event) => H::call(event, delivery),
        Err(foreign) => Box::pin(std::future::ready(Err(foreign))),
    }
}

/// The event itself.
///
/// # Errors
/// An event of another type.
pub fn downcast<E: 'static>(event: ErasedEvent) -> Result<E, HandlerError> {
    match event.downcast() {
        Ok(event) => Ok(*event),
        Err(_) => Err("an event of another handler".into()),
    }
}

impl fmt::Debug for HandlerRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// One line: consumer, event type, name, birthplace.
impl fmt::Display for HandlerRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { consumer, event_type, name, .. } = self;
        write!(f, "{consumer}: {event_type} → {name} at {}", self.birthplace())
    }
}

/// Every handler that is linked into this binary, in a fixed order.
pub fn linked_handlers() -> Vec<HandlerRegistration> {
    let mut linked: Vec<_> = inventory::iter::<HandlerRegistration>().copied().collect();
    linked.sort_by_key(HandlerRegistration::sort_key);
    linked
}
