//! [`Broker`]: what a transport's author gives to the suite.

use std::future::Future;

use inbox::{Attempts, Consumer, DeadLetters, Envelope, Health, InboxStore, SubscriptionOptions};

/// One stream or queue, made for one test on a real broker.
pub trait Broker: Send + Sync + Sized + 'static {
    /// A running subscription of the transport.
    type Subscribed: Subscribed;

    /// Whether the broker counts a delivery that ended without an answer, so that the next one is known
    /// as a further one.
    const COUNTS_LOST_DELIVERIES: bool = true;

    /// A new stream or queue, empty, whose unanswered messages are delivered again after about two
    /// seconds where the broker has such a time.
    fn start() -> impl Future<Output = Self> + Send;

    /// Publishes a message, and resolves when the broker has it.
    fn publish(&self, envelope: &Envelope) -> impl Future<Output = ()> + Send;

    /// Publishes something that the transport cannot read into an envelope.
    fn publish_unusable(&self) -> impl Future<Output = ()> + Send;

    /// Starts a subscription.
    fn subscribe<S: InboxStore + Attempts + DeadLetters>(
        &self,
        consumer: Consumer<S>,
        options: SubscriptionOptions,
    ) -> impl Future<Output = Self::Subscribed> + Send;

    /// How many messages the broker has that are not settled: waiting, delivered and unanswered, or on
    /// their way to a later delivery.
    fn unsettled(&self) -> impl Future<Output = usize> + Send;

    /// How many of them are delivered and unanswered.
    fn delivered(&self) -> impl Future<Output = usize> + Send;

    /// What was put away where the broker keeps dead letters, the oldest first.
    fn dead_letters(&self) -> impl Future<Output = Vec<Letter>> + Send;
}

/// A running subscription.
pub trait Subscribed: Send + Sync + Sized + 'static {
    fn health(&self) -> Health;

    /// Ends it gracefully.
    fn stop(self) -> impl Future<Output = ()> + Send;

    /// Ends it as the death of its process does: nothing more is told to the broker.
    fn kill(self) -> impl Future<Output = ()> + Send;
}

/// A dead letter as the broker keeps it.
#[derive(Clone, Debug)]
pub struct Letter {
    pub payload: Vec<u8>,
    pub reason: String,
    pub error: String,
    pub attempts: u32,
    pub consumer: String,
}
