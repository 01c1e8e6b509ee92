//! What is wrong with the handlers of an inbox: every problem at once, each with its place and what to
//! write.

use std::collections::BTreeMap;

use crate::event::Upcast;
use crate::handler::{Requirement, Requirements, States};
use crate::names::{consumer_problem, event_type_problem};
use crate::registration::{Call, HandlerRegistration};
use crate::registry::Registry;

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
pub(crate) fn faults(registry: &Registry) -> Vec<String> {
    let handlers = registry.handlers();
    let mut problems = Vec::new();
    // They are sorted, so each name is looked at once.
    for of_one in handlers.chunk_by(|a, b| a.consumer == b.consumer) {
        let problem = consumer_problem(of_one[0].consumer);
        problems.extend(problem.into_iter().flat_map(|problem| {
            of_one.iter().map(move |handler| {
                let (consumer, at) = (handler.consumer, handler.birthplace());
                format!("consumer {consumer:?} at {at} is refused: {problem}")
            })
        }));
    }
    for of_one in handlers.chunk_by(|a, b| a.event_type == b.event_type) {
        let problem = event_type_problem(of_one[0].event_type);
        problems.extend(problem.into_iter().flat_map(|problem| {
            of_one.iter().map(move |handler| {
                let (event_type, at) = (handler.event_type, handler.birthplace());
                format!("event type {event_type:?} at {at} is refused: {problem}")
            })
        }));
    }
    for handler in handlers.iter().filter(|handler| handler.timeout.is_zero()) {
        let (name, at) = (handler.name, handler.birthplace());
        problems.push(format!("handler `{name}` at {at} has a timeout of zero: it never runs"));
    }
    for handler in handlers.iter().filter(|handler| !handler.upcasts.is_empty()) {
        problems.extend(upcast_cycle(handler));
    }
    problems.extend(handlers.iter().filter_map(of_one_message));
    for table in registry.consumers() {
        let mut routes: Vec<_> = table.routes().collect();
        routes.sort_unstable_by_key(|(event_type, _)| *event_type);
        for (event_type, route) in routes {
            problems.extend(clashes(event_type, &route.handlers));
        }
    }
    problems
}

/// What is wrong with the handlers of one event type together.
fn clashes(event_type: &str, handlers: &[HandlerRegistration]) -> Vec<String> {
    if handlers.len() < 2 {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let mut named: BTreeMap<&str, &HandlerRegistration> = BTreeMap::new();
    for handler in handlers {
        let twice =
            named.insert(handler.name, handler).filter(|_| event_type == handler.event_type);
        problems.extend(twice.map(|first| registered_twice(first, handler)));
    }
    if let Some((first, rest)) = handlers.split_first() {
        let other = rest.iter().find(|other| (other.event_id)() != (first.event_id)());
        problems.extend(other.map(|other| two_readings(event_type, first, other)));
        let other = rest.iter().find(|other| takes_batches(other) != takes_batches(first));
        problems.extend(other.map(|other| two_ways_of_calling(event_type, first, other)));
    }
    problems
}

/// A batch handler whose argument is made of one message.
fn of_one_message(handler: &HandlerRegistration) -> Option<String> {
    let of_one =
        takes_batches(handler) && handler.arguments.iter().any(|argument| !argument.of_a_batch);
    of_one.then(|| {
        format!(
            "batch handler `{}` at {} takes an argument that is made of one message, and has many: \
             remove it, and take `Vec<inbox::Delivered<'_, …>>`, which pairs each event with its message",
            handler.name,
            handler.birthplace(),
        )
    })
}

fn takes_batches(handler: &HandlerRegistration) -> bool {
    matches!(handler.call, Call::Batch { .. })
}

fn two_ways_of_calling(
    event_type: &str,
    a: &HandlerRegistration,
    b: &HandlerRegistration,
) -> String {
    let (many, one) = if takes_batches(a) { (a, b) } else { (b, a) };
    format!(
        "consumer `{}` handles `{event_type}` both in batches and one by one: batch handler `{}` at {} and \
         handler `{}` at {}. Let both take `Vec`s with `batch`, or none; or give one a consumer of its own",
        a.consumer,
        many.name,
        many.birthplace(),
        one.name,
        one.birthplace(),
    )
}

fn registered_twice(a: &HandlerRegistration, b: &HandlerRegistration) -> String {
    format!(
        "handler `{}` of consumer `{}` for `{}` is registered twice: at {} and at {}. Rename one (a \
         function's name is no part of the data), or link its crate once",
        a.name,
        a.consumer,
        a.event_type,
        a.birthplace(),
        b.birthplace(),
    )
}

fn two_readings(event_type: &str, a: &HandlerRegistration, b: &HandlerRegistration) -> String {
    let remedy = if a.event_type == b.event_type {
        "Let both take the same event type"
    } else {
        "One takes it by `upcast_from`, the other as it is: let both take the newest version"
    };
    format!(
        "consumer `{}` reads `{event_type}` as two different Rust types: handler `{}` at {} and handler \
         `{}` at {}. {remedy}",
        a.consumer,
        a.name,
        a.birthplace(),
        b.name,
        b.birthplace(),
    )
}

/// An event that is made from itself over `upcast_from`.
fn upcast_cycle(handler: &HandlerRegistration) -> Option<String> {
    fn find(path: &mut Vec<&'static str>, older: &[Upcast]) -> bool {
        older.iter().any(|upcast| {
            path.push(upcast.event_type());
            let repeats = path[..path.len() - 1].contains(&upcast.event_type());
            let found = repeats || find(path, upcast.older());
            if !found {
                path.pop();
            }
            found
        })
    }
    let mut path = vec![handler.event_type];
    find(&mut path, handler.upcasts).then(|| {
        format!(
            "the event of handler `{}` at {} is an older version of itself: {}. Take one `upcast_from` \
             away",
            handler.name,
            handler.birthplace(),
            path.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" is read from "),
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
    let mut needs = Requirements::default();
    for handler in handlers {
        handler.arguments.iter().for_each(|argument| (argument.requirements)(&mut needs));
        for need in needs.0.drain(..) {
            let (name, place) = (handler.name, || handler.birthplace());
            match need {
                Requirement::Connection { id, store: wanted } if id != store.1 => {
                    let at = place();
                    problems.push(format!(
                        "handler `{name}` at {at} writes to {wanted}, and this inbox's store is {}. \
                         Give it to an inbox on {wanted}: choose with `.consumers([…])`",
                        store.0
                    ));
                }
                Requirement::State { id, name: wanted } if !states.has(id) => {
                    let at = place();
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
