//! [`Intake`]: where a transport hands in.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::select;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::health::Health;
use super::keep::keep;
use super::options::SubscriptionOptions;
use super::shared::Shared;
use super::worker::{EndOnPanic, Worker};
use super::{Incoming, Settle};
use crate::attempts::Attempts;
use crate::dead_letter::DeadLetters;
use crate::inbox::Consumer;
use crate::stop::StopHandle;
use crate::store::InboxStore;

/// Where a transport hands in what its broker delivered.
///
/// It ends with the inbox: when that [stops](StopHandle::stop), [`room`](Self::room) answers `None`, and
/// the transport calls [`drain`](Self::drain), which finishes what was handed in, so that nothing is
/// delivered again. Dropping it instead leaves what is not settled to the broker's redelivery.
#[derive(Debug)]
pub struct Intake<B> {
    shared: Arc<Shared<B>>,
    workers: JoinSet<()>,
    /// Ends with the intake.
    _keeper: JoinSet<()>,
    inbox_stop: StopHandle,
    own_stop: CancellationToken,
    /// Counts the subscription among what the inbox's stop waits for.
    _running: TaskTrackerToken,
}

impl<S: InboxStore + Attempts + DeadLetters> Consumer<S> {
    /// For transports: starts the workers of a subscription and answers where to hand messages in.
    /// `None` where the inbox is stopping. `stop` ends this subscription alone.
    pub fn subscribe<B: Settle>(
        &self,
        options: SubscriptionOptions,
        health: Health,
        stop: CancellationToken,
    ) -> Option<Intake<B>> {
        let inbox_stop = self.stop_handle().clone();
        let running = inbox_stop.enter()?;
        let shared = Arc::new(Shared::new(options, health));
        let mut workers = JoinSet::new();
        for _ in 0..shared.options.workers {
            let end = EndOnPanic(stop.clone());
            workers.spawn(Worker { consumer: self.clone(), shared: Arc::clone(&shared) }.work(end));
        }
        let mut keeper = JoinSet::new();
        if let Some(every) = shared.options.keep_every {
            keeper.spawn(keep(Arc::clone(&shared), self.name(), every));
        }
        Some(Intake {
            shared,
            workers,
            _keeper: keeper,
            inbox_stop,
            own_stop: stop,
            _running: running,
        })
    }
}

/// However it ends: a panic of the transport's included.
impl<B> Drop for Intake<B> {
    fn drop(&mut self) {
        self.shared.health.set_connected(false);
    }
}

impl<B: Settle> Intake<B> {
    /// Waits until messages may be fetched, and answers how many; `None` when the subscription is to end.
    pub async fn room(&self) -> Option<usize> {
        let most = self.shared.options.most_unsettled();
        loop {
            let settled = self.shared.room.notified();
            let unsettled = self.shared.unsettled();
            if self.is_stopping() {
                return None;
            }
            if unsettled < most {
                return Some(most - unsettled);
            }
            select(pin!(settled), pin!(self.stopping())).await;
        }
    }

    /// Resolves when the subscription is to end.
    pub async fn stopping(&self) {
        select(pin!(self.inbox_stop.stopping()), pin!(self.own_stop.cancelled())).await;
    }

    fn is_stopping(&self) -> bool {
        self.inbox_stop.is_stopping() || self.own_stop.is_cancelled()
    }

    /// Takes a message that was delivered. It never waits and never refuses: what was fetched is in.
    pub fn hand_in(&self, incoming: Incoming<B>) {
        self.shared.take_in(incoming);
    }

    /// How the subscription is doing.
    pub fn health(&self) -> &Health {
        &self.shared.health
    }

    /// How many messages were handed in and are not settled.
    pub fn unsettled(&self) -> usize {
        self.shared.unsettled()
    }

    /// Finishes what was handed in and resolves when all of it is settled. What would have to wait
    /// longer, for another try, is given back to the broker.
    ///
    /// # Panics
    /// Goes on with the panic of an adapter's [`Settle`], which ends the subscription: what is not settled
    /// is delivered again.
    pub async fn drain(mut self) {
        self.shared.close();
        while let Some(ended) = self.workers.join_next().await {
            if let Err(error) = ended
                && let Ok(panic) = error.try_into_panic()
            {
                std::panic::resume_unwind(panic);
            }
        }
    }
}
