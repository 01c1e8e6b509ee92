//! Which message is hit, and how.

use std::fmt;
use std::time::Duration;

use test_servers::proxy::{Action, Side, Trace, Trigger};

/// Whose messages are hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// The first dispatch on a connection, which prepares its statements.
    First,
    /// A dispatch on a connection from the pool.
    Pooled,
    /// A worker's second message, on the connection it holds.
    Held,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Cut,
    Stall,
    Delay,
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) scenario: Scenario,
    pub(crate) fault: Fault,
    pub(crate) after: bool,
    pub(crate) side: Side,
    pub(crate) nth: usize,
    /// What the message is, for the reader.
    pub(crate) about: String,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.after { "after" } else { "before" };
        let Self { scenario, fault, about, nth, .. } = self;
        write!(f, "{scenario:?}: {fault:?} {when} `{about}` (number {nth} of its side)")
    }
}

impl Case {
    pub(crate) fn trigger(&self) -> Trigger {
        let side = if self.side == Side::Client { Trigger::client() } else { Trigger::server() };
        let nth = side.nth(self.nth);
        if self.after { nth.after() } else { nth.before() }
    }

    pub(crate) fn action(&self) -> Action {
        match self.fault {
            Fault::Cut => Action::Cut,
            Fault::Stall => Action::Stall,
            Fault::Delay => Action::Delay(Duration::from_millis(30)),
        }
    }
}

/// Every fault before and after every message of a trace.
pub(crate) fn cases_of(scenario: Scenario, trace: &Trace) -> Vec<Case> {
    let mut cases = Vec::new();
    let (mut from_client, mut from_server) = (0, 0);
    for message in &trace.0 {
        let count = if message.side == Side::Client { &mut from_client } else { &mut from_server };
        *count += 1;
        let about: String = message.to_string().chars().take(60).collect();
        for fault in [Fault::Cut, Fault::Stall, Fault::Delay] {
            for after in [false, true] {
                let (side, nth, about) = (message.side, *count, about.clone());
                cases.push(Case { scenario, fault, after, side, nth, about });
            }
        }
    }
    cases
}
