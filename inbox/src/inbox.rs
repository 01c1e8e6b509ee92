//! [`Inbox`] and [`Consumer`]: where messages are handed in.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::batch;
use crate::builder::{InboxBuilder, NoStore};
use crate::dispatch;
use crate::envelope::{Envelope, EnvelopeRules};
use crate::error::{DispatchError, InvalidEnvelope};
use crate::failure::Failure;
use crate::handler::States;
use crate::listing::Handlers;
use crate::message_id::MessageId;
use crate::outcome::Outcome;
use crate::registration::linked_handlers;
use crate::registry::{ConsumerTable, Registry};
use crate::stop::StopHandle;
use crate::store::{InboxStore, Slot};
use crate::worker::Worker;

/// The handlers of one binary on one store. Cheap to clone.
///
/// Made by [`Inbox::from_registry`]; see the [crate's first page](crate) for a whole example.
pub struct Inbox<S> {
    core: Arc<Core<S>>,
}

/// What all handles to one inbox share.
pub(crate) struct Core<S> {
    pub(crate) store: S,
    pub(crate) registry: Registry,
    pub(crate) states: States,
    pub(crate) settings: Settings,
    pub(crate) stop: StopHandle,
}

/// The application's choices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) rules: EnvelopeRules,
    pub(crate) ignore_unhandled: bool,
    pub(crate) on_id_reuse: OnIdReuse,
    pub(crate) claim_wait: Duration,
    /// Whether batches of one consumer run beside each other.
    pub(crate) parallel_batches: bool,
    /// The whole dispatch; the handlers' timeouts plus [`DEFAULT_SLACK`] where it is not set.
    pub(crate) deadline: Option<Duration>,
}

/// What a dispatch may take besides its handlers, unless the application sets a deadline.
pub(crate) const DEFAULT_SLACK: Duration = Duration::from_secs(30);

/// What to do when an id that was processed comes again as another message: with another event
/// type, or, where the store keeps them, another source or payload. It is logged in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnIdReuse {
    /// Answer [`IdReused`](crate::DispatchErrorKind::IdReused), permanent: the message is
    /// dead-lettered and nothing is lost.
    #[default]
    Refuse,
    /// Answer [`SkippedDuplicate`](Outcome::SkippedDuplicate): right where one message may change
    /// its event type between deliveries, and a loss where two messages share an id.
    Skip,
}

impl Inbox<NoStore> {
    /// Starts with every handler that is linked into this binary.
    pub fn from_registry() -> InboxBuilder<NoStore> {
        InboxBuilder::new(linked_handlers())
    }

    /// Starts without handlers: those given to [`InboxBuilder::register`] are all.
    pub fn builder() -> InboxBuilder<NoStore> {
        InboxBuilder::new(Vec::new())
    }
}

impl<S: InboxStore> Inbox<S> {
    pub(crate) fn new(core: Core<S>) -> Self {
        Self { core: Arc::new(core) }
    }

    /// Hands a message to this inbox's only consumer; see [`Consumer::dispatch`].
    ///
    /// # Errors
    /// As [`Consumer::dispatch`]; and on an inbox of several consumers
    /// [`ConsumerAmbiguous`](crate::DispatchErrorKind::ConsumerAmbiguous), which is transient so
    /// that no message is dead-lettered for it.
    pub async fn dispatch(&self, envelope: &Envelope) -> Result<Outcome, DispatchError> {
        match self.core.registry.consumers() {
            [consumer] => {
                dispatch::dispatch(&self.core, consumer, envelope, &mut Slot::passing()).await
            }
            _ => {
                let consumers = self.core.registry.consumer_names();
                let failure = Failure::ConsumerAmbiguous { consumers };
                Err(DispatchError::new(failure, None, envelope.event_type()))
            }
        }
    }

    /// The handle through which one subscription hands in its messages.
    ///
    /// # Errors
    /// A name without handlers in this inbox; the error lists the names there are.
    pub fn consumer(&self, name: &str) -> Result<Consumer<S>, UnknownConsumer> {
        let tables = self.core.registry.consumers();
        match tables.iter().position(|table| table.name == name) {
            Some(index) => Ok(Consumer { core: Arc::clone(&self.core), index }),
            None => Err(UnknownConsumer {
                name: name.to_owned(),
                known: self.core.registry.consumer_names(),
            }),
        }
    }

    /// The handlers this inbox runs, sorted by consumer, event type and running order.
    pub fn handlers(&self) -> Handlers<'_> {
        Handlers(self.core.registry.handlers())
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.core.store
    }

    /// The handle that stops this inbox gracefully.
    pub fn stop_handle(&self) -> StopHandle {
        self.core.stop.clone()
    }
}

/// One consumer of an inbox: what a subscription dispatches to. Cheap to clone.
pub struct Consumer<S> {
    core: Arc<Core<S>>,
    index: usize,
}

impl<S: InboxStore> Consumer<S> {
    /// Hands in one delivered message.
    ///
    /// `Ok` means that the outcome is durable, so a transport may acknowledge on `Ok` and on nothing
    /// else. Dropping the future before it answers loses nothing: either all is committed or none
    /// of it, and the redelivery finds out.
    ///
    /// # Errors
    /// Nothing was marked processed; what [`CommitUnknown`](crate::DispatchErrorKind::CommitUnknown)
    /// and [`TransactionEscaped`](crate::DispatchErrorKind::TransactionEscaped) leave, each says.
    /// [`DispatchError::is_permanent`] tells whether to dead-letter or
    /// to retry; the [kinds](crate::DispatchErrorKind) are the rows of the outcome table.
    pub async fn dispatch(&self, envelope: &Envelope) -> Result<Outcome, DispatchError> {
        self.dispatch_through(&mut Slot::passing(), envelope).await
    }

    /// Hands in many delivered messages; one answer for each, in their order, by the same table as
    /// [`dispatch`](Self::dispatch). They are committed together, which is many times as fast as one by
    /// one: a commit waits for the disk.
    ///
    /// The handlers run in the order of delivery, in one transaction. A message that fails is left out,
    /// the others are run again where that is needed and committed, and the message is run once more by
    /// itself: that run's answer is its answer. So **a handler may be run several times for one batch**,
    /// and what failed is run after what did not. Further copies of a message in the batch take the fate
    /// of the first. A message whose twin is in flight elsewhere is
    /// [`InFlight`](crate::DispatchErrorKind::InFlight) at once.
    ///
    /// One batch of a consumer runs at a time, in all processes: two that write the same rows in
    /// different orders would deadlock. One that has to wait too long dispatches its messages one by
    /// one. See
    /// [`parallel_batches_may_deadlock`](crate::InboxBuilder::parallel_batches_may_deadlock).
    ///
    /// Every answer of the database is waited for as long as the deadline exceeds the timeouts of the
    /// handlers (30 seconds unless set), so the whole batch is bounded by the timeouts of the handlers
    /// that run. After two handlers that hang, and where the database has no connection or no answer for a
    /// message that is run apart, those that are left are not tried: they are answered
    /// [`Store`](crate::DispatchErrorKind::Store), and count no attempt. Dropping the future before it
    /// answers loses nothing.
    ///
    /// ```
    /// # async fn subscription<S: inbox::InboxStore>(consumer: inbox::Consumer<S>, batch: Vec<inbox::Envelope>) {
    /// for (envelope, answer) in batch.iter().zip(consumer.dispatch_batch(&batch).await) {
    ///     match answer {
    ///         Ok(_) => { /* acknowledge */ }
    ///         Err(error) if error.is_permanent() => { /* dead-letter */ }
    ///         Err(_) => { /* retry */ }
    ///     }
    /// }
    /// # }
    /// ```
    pub async fn dispatch_batch(
        &self,
        envelopes: &[Envelope],
    ) -> Vec<Result<Outcome, DispatchError>> {
        self.dispatch_batch_through(&mut Slot::passing(), envelopes).await
    }

    /// A handle for one long-running loop, which holds a connection from message to message where
    /// the store gains by it; see [`Worker`].
    pub fn worker(&self) -> Worker<S> {
        Worker::new(self.clone())
    }

    pub(crate) async fn dispatch_through(
        &self,
        slot: &mut Slot<S::Held>,
        envelope: &Envelope,
    ) -> Result<Outcome, DispatchError> {
        dispatch::dispatch(&self.core, self.table(), envelope, slot).await
    }

    pub(crate) async fn dispatch_batch_through(
        &self,
        slot: &mut Slot<S::Held>,
        envelopes: &[Envelope],
    ) -> Vec<Result<Outcome, DispatchError>> {
        batch::dispatch_batch(&self.core, self.table(), envelopes, slot).await
    }

    /// The consumer's name, half of the dedup key.
    pub fn name(&self) -> &'static str {
        self.table().name
    }

    /// For a subscription, which the stop handle has counted in as a whole.
    pub(crate) async fn dispatch_entered_through(
        &self,
        slot: &mut Slot<S::Held>,
        envelope: &Envelope,
    ) -> Result<Outcome, DispatchError> {
        dispatch::dispatch_entered(&self.core, self.table(), envelope, slot).await
    }

    pub(crate) async fn dispatch_batch_entered_through(
        &self,
        slot: &mut Slot<S::Held>,
        envelopes: &[Envelope],
    ) -> Vec<Result<Outcome, DispatchError>> {
        batch::dispatch_batch_entered(&self.core, self.table(), envelopes, slot).await
    }

    pub(crate) fn store(&self) -> &S {
        &self.core.store
    }

    pub(crate) fn stop_handle(&self) -> &StopHandle {
        &self.core.stop
    }

    pub(crate) fn message_id(&self, envelope: &Envelope) -> Result<MessageId, InvalidEnvelope> {
        envelope.message_id(self.core.settings.rules.ids_unique_per_source)
    }

    fn table(&self) -> &ConsumerTable {
        &self.core.registry.consumers()[self.index]
    }
}

/// [`Inbox::consumer`] was asked for a name that has no handlers here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownConsumer {
    name: String,
    known: Vec<&'static str>,
}

impl fmt::Display for UnknownConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.join(", ");
        write!(f, "this inbox runs no consumer {:?}; it runs {known}", self.name)
    }
}

impl std::error::Error for UnknownConsumer {}

impl<S> Clone for Inbox<S> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core) }
    }
}

impl<S> Clone for Consumer<S> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core), index: self.index }
    }
}

impl<S> fmt::Debug for Inbox<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("handlers", &self.core.registry.handlers()).finish()
    }
}

impl<S> fmt::Debug for Consumer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Consumer({})", self.core.registry.consumers()[self.index].name)
    }
}
