//! [`SubscriptionOptions`]: how a subscription works, whatever the broker.

use std::time::Duration;

use crate::settlement::RetryPolicy;

/// How a subscription works.
///
/// ```
/// use inbox::{DeliveryOrder, RetryPolicy, SubscriptionOptions};
///
/// let options = SubscriptionOptions::default()
///     .workers(8)
///     .batch(100)
///     .order(DeliveryOrder::ByKey)
///     .retries(RetryPolicy::default().attempts(5));
/// ```
#[derive(Clone, Debug)]
pub struct SubscriptionOptions {
    pub(super) workers: usize,
    pub(super) batch: usize,
    pub(super) unsettled: Option<usize>,
    pub(super) order: DeliveryOrder,
    pub(super) retries: RetryPolicy,
    pub(super) dead_letters: DeadLettersTo,
    pub(super) keep_every: Option<Duration>,
}

/// What may overtake what. Within this process: two processes that share a subscription work side by
/// side, unless the broker gives each of them its own part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeliveryOrder {
    /// Any message may overtake any other. One that fails is given back to the broker.
    #[default]
    Any,
    /// Messages with one ordering key are processed in the order of delivery, those of different keys
    /// side by side; those without a key in any order. One that fails is held here, and with it what
    /// follows under its key.
    ByKey,
    /// One message at a time. One that fails is held here, and with it all that follow.
    Strict,
}

/// Where dead letters go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeadLettersTo {
    /// Where the broker keeps them: a subject, an exchange.
    #[default]
    Broker,
    /// The store's table, for [`Consumer::replay`](crate::Consumer::replay).
    Store,
}

impl Default for SubscriptionOptions {
    /// Four workers, batches of up to 100 messages, any order, the default [`RetryPolicy`], dead letters
    /// to the broker.
    fn default() -> Self {
        Self {
            workers: 4,
            batch: 100,
            unsettled: None,
            order: DeliveryOrder::default(),
            retries: RetryPolicy::default(),
            dead_letters: DeadLettersTo::default(),
            keep_every: None,
        }
    }
}

impl SubscriptionOptions {
    /// How many transactions run side by side, each on a connection of its own. Zero is taken as one.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// How many messages are committed together at most; 1 for every message apart. Nothing waits for a
    /// batch to fill: what is there is taken. Zero is taken as one.
    pub fn batch(mut self, messages: usize) -> Self {
        self.batch = messages.max(1);
        self
    }

    /// How many messages may be fetched and not settled, those that are held among them. Twice what all
    /// workers take at once unless set; with [`DeliveryOrder::Strict`] the broker decides too. Zero is
    /// taken as one.
    pub fn unsettled(mut self, messages: usize) -> Self {
        self.unsettled = Some(messages.max(1));
        self
    }

    /// What may overtake what.
    pub fn order(mut self, order: DeliveryOrder) -> Self {
        self.order = order;
        self
    }

    /// How often a message is tried.
    pub fn retries(mut self, retries: RetryPolicy) -> Self {
        self.retries = retries;
        self
    }

    /// Where dead letters go.
    pub fn dead_letters(mut self, to: DeadLettersTo) -> Self {
        self.dead_letters = to;
        self
    }

    /// How often the broker is told that a message is still worked on; for transports, which know when
    /// their broker loses patience.
    pub fn keep_every(mut self, interval: Duration) -> Self {
        self.keep_every = Some(interval);
        self
    }

    /// How many messages may be fetched and not settled.
    pub fn most_unsettled(&self) -> usize {
        let at_once = match self.order {
            DeliveryOrder::Strict => 1,
            DeliveryOrder::Any | DeliveryOrder::ByKey => self.workers.saturating_mul(self.batch),
        };
        self.unsettled.unwrap_or_else(|| at_once.saturating_mul(2))
    }

    /// What may overtake what.
    pub fn delivery_order(&self) -> DeliveryOrder {
        self.order
    }

    /// How often a message is tried.
    pub fn retry_policy(&self) -> RetryPolicy {
        self.retries
    }

    /// Where dead letters go.
    pub fn dead_letters_go_to(&self) -> DeadLettersTo {
        self.dead_letters
    }
}
