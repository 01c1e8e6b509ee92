//! From registrations to a dispatch table: collect, sort, validate, index.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::handler::{Requirement, Requirements, States};
use crate::names::{consumer_problem, event_type_problem};
use crate::registration::HandlerRegistration;

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
    routes: HashMap<&'static str, Route>,
}

/// The handlers of one event type, in the order in which they run.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) handlers: Vec<HandlerRegistration>,
    /// How long they may run in all.
    pub(crate) run_limit: Duration,
    /// How long the slowest of them may run.
    pub(crate) statement_limit: Duration,
}

impl Registry {
    /// Indexes handlers in their running order.
    pub(crate) fn new(mut handlers: Vec<HandlerRegistration>) -> Self {
        handlers.sort_by_key(HandlerRegistration::sort_key);
        let mut consumers: Vec<ConsumerTable> = Vec::new();
        for handler in &handlers {
            if consumers.last().is_none_or(|table| table.name != handler.consumer) {
                consumers.push(ConsumerTable { name: handler.consumer, routes: HashMap::new() });
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
}

impl ConsumerTable {
    fn add(&mut self, handler: HandlerRegistration) {
        let route = self.routes.entry(handler.event_type).or_insert_with(|| Route {
            handlers: Vec::new(),
            run_limit: Duration::ZERO,
            statement_limit: Duration::ZERO,
        });
        route.handlers.push(handler);
        route.run_limit = route.run_limit.saturating_add(handler.timeout);
        route.statement_limit = route.statement_limit.max(handler.timeout);
    }

    pub(crate) fn route(&self, event_type: &str) -> Option<&Route> {
        self.routes.get(event_type)
    }

    /// The event types it handles, sorted.
    pub(crate) fn event_types(&self) -> Vec<&'static str> {
        let mut types: Vec<_> = self.routes.keys().copied().collect();
        types.sort_unstable();
        types
    }
}

/// What the application expects of the registry.
#[derive(Debug, Default)]
pub(crate) struct Expectations {
    /// The consumers this inbox runs; all that are linked where it is `None`.
    pub(crate) consumers: Option<Vec<String>>,
    pub(crate) expected_consumers: Vec<String>,
    pub(crate) expected_handlers: Vec<String>,
}

/// The handlers of the chosen consumers.
pub(crate) fn select(
    all: &[HandlerRegistration],
    expectations: &Expectations,
) -> Vec<HandlerRegistration> {
    let chosen = |handler: &&HandlerRegistration| match &expectations.consumers {
        Some(names) => names.iter().any(|name| name == handler.consumer),
        None => true,
    };
    all.iter().filter(chosen).copied().collect()
}

/// Everything about absent handlers; each problem says what to write.
pub(crate) fn absences(
    all: &[HandlerRegistration],
    selected: &[HandlerRegistration],
    expectations: &Expectations,
) -> Vec<String> {
    if all.is_empty() {
        return vec![NOTHING_LINKED.to_owned()];
    }
    let mut problems = Vec::new();
    let wanted = expectations.consumers.iter().flatten().chain(&expectations.expected_consumers);
    for name in wanted {
        if !all.iter().any(|handler| handler.consumer == name) {
            problems.push(format!(
                "consumer `{name}` has no handler in this binary. {}",
                what_is_linked(all)
            ));
        }
    }
    for name in &expectations.expected_handlers {
        if !selected.iter().any(|handler| handler.name == name) {
            problems.push(format!(
                "handler `{name}` is expected and not among this inbox's. {}",
                what_is_linked(all)
            ));
        }
    }
    if selected.is_empty() && problems.is_empty() {
        problems.push(format!("no consumer was chosen. {}", what_is_linked(all)));
    }
    problems
}

const NOTHING_LINKED: &str = "no handler is linked into this binary. A crate that is only listed in \
    Cargo.toml is not linked: add `use that_crate as _;` (or `inbox::link!(that_crate);`) to the \
    binary, and check that its functions carry `#[inbox_handler(consumer = \"…\")]`";

fn what_is_linked(all: &[HandlerRegistration]) -> String {
    let mut by_place: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for handler in all {
        by_place.entry((handler.consumer, handler.crate_name)).or_default().push(handler.name);
    }
    let lines: Vec<_> = by_place
        .iter()
        .map(|((consumer, krate), names)| match *krate {
            "" => format!("`{consumer}`: {}", names.join(", ")),
            krate => format!("`{consumer}` from crate {krate}: {}", names.join(", ")),
        })
        .collect();
    format!(
        "Linked are {}. If it lives in another crate, add `use that_crate as _;` to the binary: a \
         crate that is only listed in Cargo.toml is not linked",
        lines.join("; ")
    )
}

/// Everything that is wrong with the handlers themselves, each with its birthplace.
pub(crate) fn faults(handlers: &[HandlerRegistration]) -> Vec<String> {
    let mut problems = Vec::new();
    for handler in handlers {
        let at = handler.birthplace();
        if let Some(problem) = consumer_problem(handler.consumer) {
            problems.push(format!("consumer {:?} at {at} is refused: {problem}", handler.consumer));
        }
        if let Some(problem) = event_type_problem(handler.event_type) {
            let event_type = handler.event_type;
            problems.push(format!("event type {event_type:?} at {at} is refused: {problem}"));
        }
        if handler.timeout.is_zero() {
            let name = handler.name;
            problems.push(format!("handler `{name}` at {at} has a timeout of zero: it never runs"));
        }
    }
    for (i, a) in handlers.iter().enumerate() {
        let rest = &handlers[i + 1..];
        let same_event = rest.iter().take_while(|b| event_key(b) == event_key(a));
        problems.extend(same_event.filter_map(|b| clash(a, b)));
    }
    problems
}

fn event_key(handler: &HandlerRegistration) -> (&'static str, &'static str) {
    (handler.consumer, handler.event_type)
}

/// What is wrong with two handlers of one consumer and event type, or nothing.
fn clash(a: &HandlerRegistration, b: &HandlerRegistration) -> Option<String> {
    let (consumer, event_type) = event_key(a);
    let (here, there) = (a.birthplace(), b.birthplace());
    if a.name == b.name {
        return Some(format!(
            "handler `{}` of consumer `{consumer}` for `{event_type}` is registered twice: at {here} \
             and at {there}. Rename one (a function's name is no part of the data), or link its \
             crate once",
            a.name
        ));
    }
    ((a.event_id)() != (b.event_id)()).then(|| {
        format!(
            "consumer `{consumer}` reads `{event_type}` as two different Rust types: handler `{}` at \
             {here} and handler `{}` at {there}. Let both take the same event type",
            a.name, b.name
        )
    })
}

/// Everything the handlers need that this inbox has not.
pub(crate) fn unmet_needs(
    handlers: &[HandlerRegistration],
    store: (&str, std::any::TypeId),
    states: &States,
) -> Vec<String> {
    let mut problems = Vec::new();
    for handler in handlers {
        let (name, at) = (handler.name, handler.birthplace());
        let mut needs = Requirements::default();
        (handler.requirements)(&mut needs);
        for need in needs.0 {
            match need {
                Requirement::Connection { id, store: wanted } if id != store.1 => {
                    problems.push(format!(
                        "handler `{name}` at {at} writes to {wanted}, and this inbox's store is {}. \
                         Give it to an inbox on {wanted}: choose with `.consumers([…])`",
                        store.0
                    ));
                }
                Requirement::State { id, name: wanted } if !states.has(id) => {
                    problems.push(format!(
                        "handler `{name}` at {at} takes `State<{wanted}>`, which was not given: add \
                         `.state(…)` with a `{wanted}`"
                    ));
                }
                Requirement::Connection { .. } | Requirement::State { .. } => {}
            }
        }
    }
    problems
}
