//! The dispatch table: from registrations to the handlers of a consumer and event type.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::registration::{Call, HandlerRegistration};

/// The handlers this inbox runs, by consumer and event type.
#[derive(Debug)]
pub(crate) struct Registry {
    handlers: Vec<HandlerRegistration>,
    consumers: Vec<ConsumerTable>,
}

/// One consumer's handlers.
#[derive(Debug)]
pub(crate) struct ConsumerTable {
    pub(crate) name: &'static str,
    /// Whose turn it is among this process's batches.
    pub(crate) lane: Semaphore,
    routes: HashMap<&'static str, Route>,
}

/// The handlers of one event type, in the order in which they run.
#[derive(Debug, Default)]
pub(crate) struct Route {
    pub(crate) handlers: Vec<HandlerRegistration>,
    /// How long they may run in all.
    pub(crate) run_limit: Duration,
    /// How long the slowest of them may run.
    pub(crate) statement_limit: Duration,
}

impl Route {
    /// Whether its handlers are called once for many messages.
    pub(crate) fn takes_batches(&self) -> bool {
        self.handlers.iter().all(|handler| matches!(handler.call, Call::Batch { .. }))
    }

    /// Whether they do not mind what was delivered in between.
    pub(crate) fn in_any_order(&self) -> bool {
        let any = |handler: &HandlerRegistration| {
            matches!(handler.call, Call::Batch { in_any_order: true, .. })
        };
        self.handlers.iter().all(any)
    }

    /// Whether both are handled by the same handlers: those of one event, or of versions of it.
    pub(crate) fn is_as(&self, other: &Route) -> bool {
        let event_id = |route: &Route| route.handlers.first().map(|handler| (handler.event_id)());
        event_id(self) == event_id(other)
    }
}

impl Registry {
    /// Indexes handlers in their running order.
    pub(crate) fn new(handlers: Vec<HandlerRegistration>) -> Self {
        let handlers = sorted(&handlers);
        let mut consumers: Vec<ConsumerTable> = Vec::new();
        for handler in &handlers {
            if consumers.last().is_none_or(|table| table.name != handler.consumer) {
                let (name, lane) = (handler.consumer, Semaphore::new(1));
                consumers.push(ConsumerTable { name, lane, routes: HashMap::new() });
            }
            if let Some(table) = consumers.last_mut() {
                table.add(*handler);
            }
        }
        Self { handlers, consumers }
    }

    pub(crate) fn handlers(&self) -> &[HandlerRegistration] {
        &self.handlers
    }

    pub(crate) fn consumers(&self) -> &[ConsumerTable] {
        &self.consumers
    }

    pub(crate) fn consumer_names(&self) -> Vec<&'static str> {
        self.consumers.iter().map(|table| table.name).collect()
    }

    /// The longest time that the handlers of one event may run.
    pub(crate) fn longest_run(&self) -> Duration {
        let routes = self.consumers.iter().flat_map(|table| table.routes.values());
        routes.map(|route| route.run_limit).max().unwrap_or_default()
    }

    /// Pairs of handlers of one event that run in the order of their names only.
    pub(crate) fn undeclared_orders(
        &self,
    ) -> impl Iterator<Item = (&HandlerRegistration, &HandlerRegistration)> {
        self.handlers.windows(2).filter_map(|pair| {
            let [a, b] = pair else { return None };
            let key = |h: &HandlerRegistration| (h.consumer, h.event_type, h.order);
            (key(a) == key(b)).then_some((a, b))
        })
    }

    /// Pairs of consumers whose names differ only in case or in `-`, `_`: most likely one, misspelt,
    /// and then each applies every message.
    pub(crate) fn lookalikes(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let mut spelt: Vec<_> = self
            .consumers
            .iter()
            .map(|table| (table.name.to_ascii_lowercase().replace('-', "_"), table.name))
            .collect();
        spelt.sort_unstable();
        let pairs: Vec<_> = spelt
            .windows(2)
            .filter_map(|pair| match pair {
                [(a, first), (b, second)] if a == b => Some((*first, *second)),
                _ => None,
            })
            .collect();
        pairs.into_iter()
    }
}

/// The handlers in their running order. Those of one event are gathered first: two names are compared
/// far slower than one is hashed. What is gathered and sorted are references, because the records are
/// large.
fn sorted(handlers: &[HandlerRegistration]) -> Vec<HandlerRegistration> {
    let mut of_events: HashMap<_, Vec<_>> = HashMap::with_capacity(handlers.len());
    for handler in handlers {
        of_events.entry((handler.consumer, handler.event_type)).or_default().push(handler);
    }
    let mut of_events: Vec<_> = of_events.into_iter().collect();
    of_events.sort_unstable_by_key(|(of, _)| *of);
    let mut sorted = Vec::with_capacity(handlers.len());
    for (_, mut of_one) in of_events {
        of_one.sort_by_key(|handler| handler.sort_key());
        sorted.extend(of_one.into_iter().copied());
    }
    sorted
}

impl ConsumerTable {
    /// Under the event's own type and under those of its older versions.
    fn add(&mut self, handler: HandlerRegistration) {
        if handler.upcasts.is_empty() {
            self.route_to(handler.event_type, handler);
            return;
        }
        for event_type in handler.accepted_event_types() {
            self.route_to(event_type, handler);
        }
    }

    fn route_to(&mut self, event_type: &'static str, handler: HandlerRegistration) {
        let route = self.routes.entry(event_type).or_default();
        route.handlers.push(handler);
        route.run_limit = route.run_limit.saturating_add(handler.timeout);
        route.statement_limit = route.statement_limit.max(handler.timeout);
    }

    /// Whether two event types are versions of one event here.
    pub(crate) fn is_one_event(&self, a: &str, b: &str) -> bool {
        let event_id = |event_type| {
            let handler = self.route(event_type)?.handlers.first()?;
            Some((handler.event_id)())
        };
        a == b || (event_id(a).is_some() && event_id(a) == event_id(b))
    }

    pub(crate) fn route(&self, event_type: &str) -> Option<&Route> {
        self.routes.get(event_type)
    }

    pub(crate) fn routes(&self) -> impl Iterator<Item = (&'static str, &Route)> {
        self.routes.iter().map(|(event_type, route)| (*event_type, route))
    }

    /// The event types it handles, sorted.
    pub(crate) fn event_types(&self) -> Vec<&'static str> {
        let mut types: Vec<_> = self.routes.keys().copied().collect();
        types.sort_unstable();
        types
    }
}
