//! [`Intake`] and the workers behind it.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{join_all, select};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::health::Health;
use super::options::SubscriptionOptions;
use super::queue::{Lane, Queue, Taken, Waiting};
use super::settle::in_time;
use super::{Incoming, Settle};
use crate::attempts::Attempts;
use crate::dead_letter::{DeadLetter, DeadLetters};
use crate::envelope::Envelope;
use crate::error::{DispatchError, InvalidEnvelope};
use crate::inbox::Consumer;
use crate::outcome::Outcome;
use crate::stop::StopHandle;
use crate::store::InboxStore;
use crate::telemetry;

/// Where a transport hands in what its broker delivered.
///
/// It ends with the inbox: when that [stops](StopHandle::stop), [`room`](Self::room) answers `None`, and
/// the transport calls [`drain`](Self::drain), which finishes what was handed in, so that nothing is
/// delivered again. Dropping it instead leaves what is not settled to the broker's redelivery.
#[derive(Debug)]
pub struct Intake<B> {
    shared: Arc<Shared<B>>,
    tasks: JoinSet<()>,
    inbox_stop: StopHandle,
    own_stop: CancellationToken,
    /// Counts the subscription among what the inbox's stop waits for.
    _running: TaskTrackerToken,
}

/// What the transport's side and the workers share.
#[derive(Debug)]
pub(super) struct Shared<B> {
    pub(super) options: SubscriptionOptions,
    state: Mutex<State<B>>,
    /// Something may be taken, or the end has come.
    work: Notify,
    /// Something was settled.
    room: Notify,
    pub(super) health: Health,
}

#[derive(Debug)]
struct State<B> {
    queue: Queue<Entry<B>>,
    /// All that was handed in and is not settled, with the time at which the broker last heard of it.
    unsettled: HashMap<u64, (Arc<B>, Instant)>,
    next: u64,
    is_closing: bool,
}

/// A message that was handed in.
#[derive(Debug)]
pub(super) struct Entry<B> {
    pub(super) number: u64,
    pub(super) envelope: Envelope,
    pub(super) unusable: Option<InvalidEnvelope>,
    pub(super) broker: Arc<B>,
    /// It only has to be put away: it was tried to the end, and where it goes could not be reached.
    pub(super) letter: Option<DeadLetter>,
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
        let state = State {
            queue: Queue::new(options.batch),
            unsettled: HashMap::new(),
            next: 0,
            is_closing: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            work: Notify::new(),
            room: Notify::new(),
            health,
            options,
        });
        let mut tasks = JoinSet::new();
        for _ in 0..shared.options.workers {
            tasks.spawn(Worker { consumer: self.clone(), shared: Arc::clone(&shared) }.work());
        }
        if let Some(every) = shared.options.keep_every {
            tasks.spawn(keep(Arc::clone(&shared), self.name(), every));
        }
        Some(Intake { shared, tasks, inbox_stop, own_stop: stop, _running: running })
    }
}

impl<B: Settle> Intake<B> {
    /// Waits until messages may be fetched, and answers how many; `None` when the subscription is to end.
    pub async fn room(&self) -> Option<usize> {
        let most = self.shared.options.most_unsettled();
        loop {
            let settled = self.shared.room.notified();
            let unsettled = self.shared.state().unsettled.len();
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
        let Incoming { envelope, unusable, broker } = incoming;
        let broker = Arc::new(broker);
        let lane = Lane::of(&envelope, self.shared.options.order);
        let apart = unusable.is_some() || envelope.delivery_attempt().is_some_and(|n| n > 1);
        let mut state = self.shared.state();
        let number = state.next;
        state.next += 1;
        state.unsettled.insert(number, (Arc::clone(&broker), Instant::now()));
        let item = Entry { number, envelope, unusable, broker, letter: None };
        state.queue.push(Waiting { item, lane, apart, not_before: None });
        self.shared.health.set_unsettled(state.unsettled.len());
        drop(state);
        self.shared.work.notify_one();
    }

    /// How the subscription is doing.
    pub fn health(&self) -> &Health {
        &self.shared.health
    }

    /// How many messages were handed in and are not settled.
    pub fn unsettled(&self) -> usize {
        self.shared.state().unsettled.len()
    }

    /// Finishes what was handed in and resolves when all of it is settled. What would have to wait
    /// longer, for another try, is given back to the broker.
    pub async fn drain(mut self) {
        self.shared.state().is_closing = true;
        self.shared.work.notify_waiters();
        while self.tasks.join_next().await.is_some() {}
    }
}

impl<B> Shared<B> {
    /// Nothing under the lock can panic half-way, so a poisoned one is as good.
    fn state(&self) -> MutexGuard<'_, State<B>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a worker does next; `None` at the end.
    async fn next(&self) -> Option<Taken<Entry<B>>> {
        loop {
            let mut notified = pin!(self.work.notified());
            notified.as_mut().enable();
            let due = {
                let mut state = self.state();
                if state.is_closing
                    && let Some(taken) = state.queue.take_held()
                {
                    return Some(taken);
                }
                if let Some(taken) = state.queue.take(Instant::now()) {
                    if !state.queue.is_empty() {
                        self.work.notify_one(); // for another worker
                    }
                    return Some(taken);
                }
                if state.is_closing && state.queue.is_empty() {
                    return None;
                }
                state.queue.next_due()
            };
            match due {
                Some(due) => drop(timeout_at(due, notified).await),
                None => notified.await,
            }
        }
    }

    /// A message is dispatched again after this time.
    pub(super) fn hold(&self, mut waiting: Waiting<Entry<B>>, time: Duration) {
        waiting.apart = true;
        waiting.not_before = Some(Instant::now() + time);
        self.state().queue.put_back(waiting);
        self.work.notify_waiters();
    }

    /// A message is settled, or left to the broker's redelivery.
    pub(super) fn done(&self, waiting: &Waiting<Entry<B>>) {
        let mut state = self.state();
        state.unsettled.remove(&waiting.item.number);
        state.queue.done(waiting.lane.as_ref());
        self.health.settled(state.unsettled.len());
        drop(state);
        self.room.notify_one();
        if waiting.lane.is_some() {
            self.work.notify_waiters();
        }
    }

    /// Those of whom the broker has not heard for this time; it hears now.
    fn silent_for(&self, time: Duration) -> Vec<Arc<B>> {
        let now = Instant::now();
        let mut state = self.state();
        let silent = state.unsettled.values_mut().filter(|(_, heard)| now - *heard >= time);
        silent
            .map(|(broker, heard)| {
                *heard = now;
                Arc::clone(broker)
            })
            .collect()
    }
}

/// Tells the broker of all that is not settled, until there is nothing more to come.
async fn keep<B: Settle>(shared: Arc<Shared<B>>, consumer: &'static str, every: Duration) {
    loop {
        sleep(every / 4).await;
        let silent = shared.silent_for(every);
        for result in join_all(silent.iter().map(|broker| in_time(broker.keep()))).await {
            if let Err(error) = result {
                telemetry::keep_failed(consumer, &*error);
            }
        }
        let state = shared.state();
        if state.is_closing && state.unsettled.is_empty() {
            return;
        }
    }
}

/// One of a subscription's workers.
pub(super) struct Worker<S: InboxStore, B> {
    pub(super) consumer: Consumer<S>,
    pub(super) shared: Arc<Shared<B>>,
}

impl<S: InboxStore + Attempts + DeadLetters, B: Settle> Worker<S, B> {
    async fn work(self) {
        let mut worker = self.consumer.worker();
        while let Some(taken) = self.shared.next().await {
            match taken {
                Taken::GiveBack(all) => {
                    join_all(all.into_iter().map(|waiting| self.give_back(waiting))).await;
                }
                Taken::Apart(waiting) => self.try_apart(&mut worker, waiting).await,
                Taken::Together(all) => self.dispatch_together(&mut worker, all).await,
            }
        }
    }

    /// First deliveries, which pay nothing for the count of their attempts.
    async fn dispatch_together(
        &self,
        worker: &mut crate::worker::Worker<S>,
        mut all: Vec<Waiting<Entry<B>>>,
    ) {
        let envelopes: Vec<Envelope> =
            all.iter_mut().map(|waiting| waiting.item.take_envelope()).collect();
        let answers: Vec<Result<Outcome, DispatchError>> = match envelopes.as_slice() {
            [one] => vec![worker.dispatch_entered(one).await],
            many => worker.dispatch_batch_entered(many).await,
        };
        let settled =
            all.into_iter().zip(envelopes).zip(answers).map(|((mut waiting, envelope), answer)| {
                waiting.item.envelope = envelope;
                self.settle_first(waiting, answer)
            });
        join_all(settled).await;
    }
}

impl<B> Entry<B> {
    /// The envelope for a while, without copying it.
    fn take_envelope(&mut self) -> Envelope {
        std::mem::replace(&mut self.envelope, Envelope::new(None::<&str>, "", Vec::new()))
    }
}
