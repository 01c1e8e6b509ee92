//! [`Health`]: how a subscription is doing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How a subscription is doing, for a readiness or liveness answer. Clones look at the same
/// subscription.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    connected: bool,
    unsettled: usize,
    last_settled: Option<Instant>,
}

/// One look at a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscriptionHealth {
    /// Whether the transport can fetch from its broker right now.
    pub connected: bool,
    /// How many messages were fetched and are not settled.
    pub unsettled: usize,
    /// How long ago the last one was settled.
    pub since_last_settled: Option<Duration>,
}

impl Health {
    /// How it is doing now.
    pub fn now(&self) -> SubscriptionHealth {
        let state = self.state();
        SubscriptionHealth {
            connected: state.connected,
            unsettled: state.unsettled,
            since_last_settled: state.last_settled.map(|at| at.elapsed()),
        }
    }

    /// For transports: whether messages can be fetched.
    pub fn set_connected(&self, connected: bool) {
        self.state().connected = connected;
    }

    pub(super) fn set_unsettled(&self, unsettled: usize) {
        self.state().unsettled = unsettled;
    }

    pub(super) fn settled(&self, unsettled: usize) {
        let mut state = self.state();
        state.unsettled = unsettled;
        state.last_settled = Some(Instant::now());
    }

    /// Nothing under the lock can panic half-way, so a poisoned one is as good.
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
