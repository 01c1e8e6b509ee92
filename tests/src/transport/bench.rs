//! [`Line`]: a broker, a store, an inbox between them, and what a test asks of all three.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use inbox::{Attempts, DeadLetters, Envelope, Outcome, RetryPolicy, SubscriptionOptions};

use super::broker::{Broker, Letter, Subscribed};
use crate::bench::{Bench, CONSUMER, handler, id_of};
use crate::command::{End, envelope};
use crate::harness::{Harness, StoreOptions};

/// Far more than anything of the suite takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A broker and an inbox of one handler.
pub struct Line<H: Harness, B: Broker> {
    pub bench: Bench<H>,
    pub broker: B,
}

impl<H: Harness, B: Broker> Line<H, B> {
    pub async fn start() -> Self {
        Self::on(B::start().await).await
    }

    pub async fn on(broker: B) -> Self {
        let harness = std::sync::Arc::new(H::start().await);
        let options = StoreOptions { connections: 6, ..StoreOptions::default() };
        let bench = Bench::on(harness, options, |builder| {
            builder.register(handler::<H, 0>("obey")).claim_wait(Duration::from_millis(50))
        });
        Self { bench: bench.await, broker }
    }

    /// Waits that a test can wait for.
    pub fn options() -> SubscriptionOptions {
        let waits = (Duration::from_millis(200), Duration::from_secs(1));
        SubscriptionOptions::default().retries(RetryPolicy::default().waits(waits.0, waits.1))
    }

    pub async fn subscribe(&self, options: SubscriptionOptions) -> B::Subscribed {
        self.broker.subscribe(self.bench.consumer(), options).await
    }

    /// Publishes a new message that ends so.
    pub async fn publish(&self, end: End) -> Envelope {
        let envelope = envelope([end]);
        self.broker.publish(&envelope).await;
        envelope
    }

    /// Waits until the broker has nothing that is not settled.
    pub async fn settled(&self) {
        self.until("the broker has nothing unsettled", async || self.broker.unsettled().await == 0)
            .await;
    }

    /// Waits until the broker has so many dead letters.
    pub async fn letters(&self, number: usize) -> Vec<Letter> {
        // Looked at once: a broker may take a while to have back what was looked at.
        let last = Mutex::new(Vec::new());
        self.until("there are the dead letters", async || {
            let found = self.broker.dead_letters().await;
            let enough = found.len() >= number;
            *last.lock().unwrap() = found;
            enough
        })
        .await;
        let letters = last.into_inner().unwrap();
        assert_eq!(letters.len(), number, "{letters:?}");
        letters
    }

    /// Waits for something of which nobody gives a signal.
    pub async fn until(&self, what: &str, holds: impl AsyncFn() -> bool) {
        let since = Instant::now();
        while !holds().await {
            assert!(since.elapsed() < PATIENCE, "waited in vain until {what}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// How often the handler was started for the message.
    pub fn starts_of(&self, envelope: &Envelope) -> u32 {
        self.bench.probe.starts_of(0, &id_of(envelope).to_string())
    }

    /// The counted tries of the message that are not forgotten.
    pub async fn begun(&self, envelope: &Envelope) -> u32 {
        self.bench.inbox.store().begun(CONSUMER, id_of(envelope)).await.unwrap()
    }

    /// Each of the messages has one effect and one dedup row, and nothing is left of its tries.
    pub async fn assert_each_once(&self, messages: &[Envelope]) {
        for message in messages {
            assert_eq!(self.bench.effects_of(message).await, ["0"]);
            assert!(self.bench.has_row(message).await);
            assert_eq!(self.begun(message).await, 0);
        }
    }

    pub async fn stored_letters(&self) -> Vec<inbox::StoredDeadLetter> {
        self.bench.inbox.store().dead_letters(CONSUMER, None, 1_000).await.unwrap()
    }

    /// Stops, and checks that nothing was left behind: nothing is delivered again.
    pub async fn stop(&self, subscription: B::Subscribed) {
        let health = subscription.health();
        subscription.stop().await;
        assert_eq!(health.now().unsettled, 0);
        assert_eq!(self.broker.delivered().await, 0, "something was fetched and not settled");
    }

    /// The message is processed already.
    pub async fn process(&self, envelope: &Envelope) {
        assert_eq!(self.bench.dispatch(envelope).await.unwrap(), Outcome::Processed);
    }
}
