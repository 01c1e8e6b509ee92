//! What the transport's side of a subscription and its workers share.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, RwLock};
use tokio::time::{Instant, timeout_at};

use super::Incoming;
use super::health::Health;
use super::options::SubscriptionOptions;
use super::queue::{Lane, Queue, Taken, Waiting};
use crate::dead_letter::DeadLetter;
use crate::envelope::Envelope;
use crate::error::InvalidEnvelope;

/// What the transport's side and the workers share.
#[derive(Debug)]
pub(super) struct Shared<B> {
    pub(super) options: SubscriptionOptions,
    state: Mutex<State<B>>,
    /// Something may be taken, or the end has come.
    work: Notify,
    /// Something was settled.
    pub(super) room: Notify,
    pub(super) health: Health,
    /// Held by whoever has handlers running; for writing by who must be the only one.
    pub(super) running: RwLock<()>,
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

impl<B> Shared<B> {
    pub(super) fn new(options: SubscriptionOptions, health: Health) -> Self {
        let state = State {
            queue: Queue::new(options.batch),
            unsettled: HashMap::new(),
            next: 0,
            is_closing: false,
        };
        let (work, room) = (Notify::new(), Notify::new());
        Self { options, state: Mutex::new(state), work, room, health, running: RwLock::new(()) }
    }

    pub(super) fn take_in(&self, incoming: Incoming<B>) {
        let Incoming { envelope, unusable, broker } = incoming;
        let broker = Arc::new(broker);
        let lane = Lane::of(&envelope, self.options.order);
        let apart = unusable.is_some() || envelope.delivery_attempt().is_some_and(|n| n > 1);
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.unsettled.insert(number, (Arc::clone(&broker), Instant::now()));
        let item = Entry { number, envelope, unusable, broker, letter: None };
        state.queue.push(Waiting { item, lane, apart, not_before: None });
        self.health.set_unsettled(state.unsettled.len());
        drop(state);
        self.work.notify_one();
    }

    pub(super) fn unsettled(&self) -> usize {
        self.state().unsettled.len()
    }

    /// From now on nobody waits for a message that is held.
    pub(super) fn close(&self) {
        self.state().is_closing = true;
        self.work.notify_waiters();
    }

    /// Nothing under the lock can panic half-way, so a poisoned one is as good.
    fn state(&self) -> MutexGuard<'_, State<B>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a worker does next; `None` at the end.
    pub(super) async fn next(&self) -> Option<Taken<Entry<B>>> {
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
    pub(super) fn silent_for(&self, time: Duration) -> Vec<Arc<B>> {
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

impl<B> Entry<B> {
    /// The envelope for a while, without copying it.
    pub(super) fn take_envelope(&mut self) -> Envelope {
        std::mem::replace(&mut self.envelope, Envelope::new(None::<&str>, "", Vec::new()))
    }
}
