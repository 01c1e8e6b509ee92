//! [`Worker`]: a consumer's handle for one long-running loop.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::envelope::Envelope;
use crate::error::DispatchError;
use crate::inbox::Consumer;
use crate::outcome::Outcome;
use crate::store::{InboxStore, Slot};

/// How long a worker without messages keeps its connection, at least; at most twice as long.
const IDLE: Duration = Duration::from_millis(500);

/// Dispatches one message after the other and holds one connection between them, where the store
/// gains by it: on PostgreSQL the COMMIT of a message is the BEGIN of the next, and the pool's pings
/// fall away. Same promise and same answers as [`Consumer::dispatch`].
///
/// The connection is given back when no message came for about half a second, before every wait, and
/// when the worker is dropped; one that died is replaced. A pool needs one connection for each worker
/// and some for everything else.
///
/// ```
/// # async fn subscription<S: inbox::InboxStore>(
/// #     consumer: inbox::Consumer<S>,
/// #     mut messages: tokio::sync::mpsc::Receiver<inbox::Envelope>,
/// # ) {
/// let mut worker = consumer.worker();
/// while let Some(envelope) = messages.recv().await {
///     match worker.dispatch(&envelope).await {
///         Ok(_) => { /* acknowledge */ }
///         Err(error) if error.is_permanent() => { /* dead-letter */ }
///         Err(_) => { /* retry */ }
///     }
/// }
/// # }
/// ```
pub struct Worker<S: InboxStore> {
    consumer: Consumer<S>,
    resting: Arc<Mutex<Resting<S::Held>>>,
    is_watched: bool,
}

/// The slot between two messages.
struct Resting<H> {
    slot: Slot<H>,
    /// Whether a whole idle time has begun since the last message.
    seen_idle: bool,
}

impl<S: InboxStore> Worker<S> {
    pub(crate) fn new(consumer: Consumer<S>) -> Self {
        let resting = Resting { slot: Slot::keeping(), seen_idle: false };
        Self { consumer, resting: Arc::new(Mutex::new(resting)), is_watched: false }
    }

    /// Hands in one delivered message; see [`Consumer::dispatch`].
    ///
    /// # Errors
    /// As [`Consumer::dispatch`].
    pub async fn dispatch(&mut self, envelope: &Envelope) -> Result<Outcome, DispatchError> {
        let mut slot = self.take_slot();
        let answer = self.consumer.dispatch_through(&mut slot, envelope).await;
        self.rest(slot);
        answer
    }

    /// Hands in many delivered messages; see [`Consumer::dispatch_batch`].
    pub async fn dispatch_batch(
        &mut self,
        envelopes: &[Envelope],
    ) -> Vec<Result<Outcome, DispatchError>> {
        let mut slot = self.take_slot();
        let answers = self.consumer.dispatch_batch_through(&mut slot, envelopes).await;
        self.rest(slot);
        answers
    }

    /// For a subscription, which the stop handle has counted in as a whole.
    pub(crate) async fn dispatch_entered(
        &mut self,
        envelope: &Envelope,
    ) -> Result<Outcome, DispatchError> {
        let mut slot = self.take_slot();
        let answer = self.consumer.dispatch_entered_through(&mut slot, envelope).await;
        self.rest(slot);
        answer
    }

    pub(crate) async fn dispatch_batch_entered(
        &mut self,
        envelopes: &[Envelope],
    ) -> Vec<Result<Outcome, DispatchError>> {
        let mut slot = self.take_slot();
        let answers = self.consumer.dispatch_batch_entered_through(&mut slot, envelopes).await;
        self.rest(slot);
        answers
    }

    fn take_slot(&self) -> Slot<S::Held> {
        std::mem::replace(&mut lock(&self.resting).slot, Slot::keeping())
    }

    fn rest(&mut self, slot: Slot<S::Held>) {
        let holds = !slot.is_empty();
        *lock(&self.resting) = Resting { slot, seen_idle: false };
        if holds && !self.is_watched {
            self.is_watched = true;
            tokio::spawn(give_back_when_idle(Arc::downgrade(&self.resting)));
        }
    }

    /// The consumer it works for.
    pub fn consumer(&self) -> &Consumer<S> {
        &self.consumer
    }
}

/// Ends with the worker.
async fn give_back_when_idle<H>(resting: Weak<Mutex<Resting<H>>>) {
    loop {
        tokio::time::sleep(IDLE).await;
        let Some(resting) = resting.upgrade() else { return };
        let mut resting = lock(&resting);
        if resting.seen_idle {
            resting.slot.clear();
        }
        resting.seen_idle = true;
    }
}

/// Nothing under the lock can panic half-way, so a poisoned one is as good.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: InboxStore> fmt::Debug for Worker<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Worker of {:?}", self.consumer)
    }
}
