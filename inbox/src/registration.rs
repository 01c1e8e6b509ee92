//! [`HandlerRegistration`]: the record a handler leaves in the binary.

use std::any::{Any, TypeId};
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::time::Duration;

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
    pub(crate) call: CallFn,
}

/// A decoded event on its way from `decode` to `call`.
pub(crate) type ErasedEvent = Box<dyn Any + Send>;
type DecodeFn = fn(&Envelope) -> Result<ErasedEvent, DecodeError>;
/// Runs a handler once, with an event of its type.
pub(crate) type CallFn = for<'a> fn(ErasedEvent, Delivery<'a>) -> HandlerFuture<'a>;

inventory::collect!(HandlerRegistration);

impl HandlerRegistration {
    /// A handler called `name` of `consumer`. Its birthplace is the caller's file and line.
    #[track_caller]
    pub const fn new<H: Handler>(consumer: &'static str, name: &'static str) -> Self {
        Self::of_event::<H::Event>(consumer, name, H::ARGUMENTS, call::<H>)
    }

    /// A handler of `E`. `call` is only given events of this type.
    #[track_caller]
    pub(crate) const fn of_event<E: IntegrationEvent>(
        consumer: &'static str,
        name: &'static str,
        arguments: &'static [Argument],
        call: CallFn,
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

/// The handlers of an inbox, sorted. Printed, they are a table for a log or a terminal:
///
/// ```text
/// consumer        event type               order  handler        timeout  place
/// orders-service  orders.order-placed.v1       0  reserve_stock  30s      src/stock.rs:14 (crate orders)
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Handlers<'a>(pub(crate) &'a [HandlerRegistration]);

impl<'a> Handlers<'a> {
    /// One after the other, in their order.
    pub fn iter(self) -> std::slice::Iter<'a, HandlerRegistration> {
        self.0.iter()
    }
}

impl Deref for Handlers<'_> {
    type Target = [HandlerRegistration];

    fn deref(&self) -> &[HandlerRegistration] {
        self.0
    }
}

impl<'a> IntoIterator for Handlers<'a> {
    type Item = &'a HandlerRegistration;
    type IntoIter = std::slice::Iter<'a, HandlerRegistration>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Handlers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HEAD: [&str; 6] = ["consumer", "event type", "order", "handler", "timeout", "place"];
        const ORDER: usize = 2; // the only number, so the only column that is set to the right
        let mut rows = vec![HEAD.map(str::to_owned)];
        rows.extend(self.iter().map(|handler| {
            let (order, timeout) = (handler.order.to_string(), format!("{:?}", handler.timeout));
            let names = [handler.consumer, handler.event_type, handler.name].map(str::to_owned);
            let [consumer, event_type, name] = names;
            [consumer, event_type, order, name, timeout, handler.birthplace().to_string()]
        }));
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths = [0, 1, 2, 3, 4].map(|column| width(column).unwrap_or(0));
        for row in &rows {
            for (column, width) in widths.into_iter().enumerate() {
                let cell = &row[column];
                match column {
                    ORDER => write!(f, "{cell:>width$}  ")?,
                    _ => write!(f, "{cell:<width$}  ")?,
                }
            }
            writeln!(f, "{}", row[widths.len()])?;
        }
        Ok(())
    }
}

/// Every handler that is linked into this binary, in a fixed order.
pub fn linked_handlers() -> Vec<HandlerRegistration> {
    let mut linked: Vec<_> = inventory::iter::<HandlerRegistration>().copied().collect();
    linked.sort_by_key(HandlerRegistration::sort_key);
    linked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::Delivery;

    struct Ping;
    impl IntegrationEvent for Ping {
        const EVENT_TYPE: &'static str = "probe.ping.v1";
        fn decode(_: &Envelope) -> Result<Self, DecodeError> {
            Ok(Ping)
        }
    }
    impl Handler for Ping {
        type Event = Ping;
        fn call<'a>(_: Ping, _: Delivery<'a>) -> HandlerFuture<'a> {
            Box::pin(std::future::ready(Ok(())))
        }
    }

    #[test]
    fn handlers_print_as_a_table_with_their_birthplaces() {
        let handlers = [
            HandlerRegistration::new::<Ping>("a", "first").with_order(-1),
            HandlerRegistration::new::<Ping>("a-longer-one", "second").in_crate("probe"),
        ];
        let table = Handlers(&handlers).to_string();
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines[0], "consumer      event type     order  handler  timeout  place");
        assert!(
            lines[1].starts_with("a             probe.ping.v1     -1  first    30s      inbox/src")
        );
        assert!(
            lines[2].starts_with("a-longer-one  probe.ping.v1      0  second   30s      inbox/src")
        );
        assert!(lines[2].ends_with(" (crate probe)"));
    }
}
