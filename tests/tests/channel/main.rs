//! The transports' suite on a queue in this process: what is tested is the part that all transports
//! share. It redelivers as brokers do: what a dead consumer had fetched comes again, and is counted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "all of it is tests")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use conformance::transport::{Broker, Letter, Subscribed};
use inbox::{
    Attempts, BrokerError, Consumer, DeadLetter, DeadLetters, Envelope, Health, InboxStore,
    Incoming, Intake, InvalidEnvelope, Settle, SubscriptionOptions,
};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

mod adapters;
#[path = "../stores/sqlite.rs"]
mod store;

/// A queue with the messages that were fetched and not settled.
#[derive(Clone, Default)]
struct Channel(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    published: Notify,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Message>,
    fetched: BTreeMap<u64, (Subscriber, Message)>,
    delayed: usize,
    next: u64,
    dead: Vec<Letter>,
}

type Subscriber = u64;

#[derive(Clone)]
struct Message {
    envelope: Envelope,
    is_usable: bool,
    deliveries: u32,
}

impl Channel {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    fn push(&self, envelope: Envelope, is_usable: bool) {
        self.state().ready.push_back(Message { envelope, is_usable, deliveries: 0 });
        self.0.published.notify_one();
    }

    /// Waits for a message and takes up to `most`.
    async fn fetch(&self, subscriber: Subscriber, most: usize) -> Vec<Fetched> {
        loop {
            let published = self.0.published.notified();
            let fetched = self.take(subscriber, most);
            if !fetched.is_empty() {
                return fetched;
            }
            published.await;
        }
    }

    fn take(&self, subscriber: Subscriber, most: usize) -> Vec<Fetched> {
        let mut state = self.state();
        let number = most.min(state.ready.len());
        let messages: Vec<Message> = state.ready.drain(..number).collect();
        let fetched = messages.into_iter().map(|mut message| {
            message.deliveries += 1;
            state.next += 1;
            let number = state.next;
            state.fetched.insert(number, (subscriber, message.clone()));
            Fetched { channel: self.clone(), number, message }
        });
        fetched.collect()
    }

    /// What happens at a broker when a consumer's connection is gone.
    fn lost(&self, subscriber: Subscriber) {
        let mut state = self.state();
        let of_it = state.fetched.extract_if(.., |_, (by, _)| *by == subscriber);
        let lost: Vec<Message> = of_it.map(|(_, (_, message))| message).collect();
        for message in lost.into_iter().rev() {
            state.ready.push_front(message);
        }
        drop(state);
        self.0.published.notify_one();
    }
}

/// A message that was fetched.
struct Fetched {
    channel: Channel,
    number: u64,
    message: Message,
}

impl Fetched {
    fn settle(&self) -> Result<Message, BrokerError> {
        let settled = self.channel.state().fetched.remove(&self.number);
        settled.map(|(_, message)| message).ok_or_else(|| "it was taken away".into())
    }

    fn into_incoming(self) -> Incoming<Self> {
        let envelope = self.message.envelope.clone().with_delivery_attempt(self.message.deliveries);
        match self.message.is_usable {
            true => Incoming::new(envelope, self),
            false => Incoming::unusable(envelope, InvalidEnvelope::new("data", "is cut off"), self),
        }
    }
}

impl Settle for Fetched {
    async fn ack(&self) -> Result<(), BrokerError> {
        self.settle().map(drop)
    }

    async fn retry(&self, after: Duration) -> Result<(), BrokerError> {
        let message = self.settle()?;
        let channel = self.channel.clone();
        channel.state().delayed += 1;
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            let mut state = channel.state();
            state.delayed -= 1;
            state.ready.push_back(message);
            drop(state);
            channel.0.published.notify_one();
        });
        Ok(())
    }

    async fn dead_letter(&self, letter: &DeadLetter) -> Result<(), BrokerError> {
        let kept = Letter {
            payload: letter.envelope.payload().to_vec(),
            reason: letter.reason.to_string(),
            error: letter.error.clone(),
            attempts: letter.attempts,
            consumer: letter.consumer.clone(),
        };
        self.channel.state().dead.push(kept);
        self.settle().map(drop)
    }
}

/// The whole of a transport.
async fn carry(channel: Channel, subscriber: Subscriber, intake: Intake<Fetched>) {
    intake.health().set_connected(true);
    while let Some(room) = intake.room().await {
        tokio::select! {
            fetched = channel.fetch(subscriber, room) => {
                fetched.into_iter().for_each(|one| intake.hand_in(one.into_incoming()));
            }
            () = intake.stopping() => {}
        }
    }
    intake.health().set_connected(false);
    intake.drain().await;
}

struct Carrier {
    channel: Channel,
    subscriber: Subscriber,
    task: JoinHandle<()>,
    stop: CancellationToken,
    health: Health,
}

impl Subscribed for Carrier {
    fn health(&self) -> Health {
        self.health.clone()
    }

    async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }

    async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
        self.channel.lost(self.subscriber);
    }
}

impl Broker for Channel {
    type Subscribed = Carrier;

    async fn start() -> Self {
        Self::default()
    }

    async fn publish(&self, envelope: &Envelope) {
        self.push(envelope.clone(), true);
    }

    async fn publish_unusable(&self) {
        self.push(Envelope::new(None::<&str>, "", "{"), false);
    }

    async fn subscribe<S: InboxStore + Attempts + DeadLetters>(
        &self,
        consumer: Consumer<S>,
        options: SubscriptionOptions,
    ) -> Carrier {
        let (health, stop) = (Health::default(), CancellationToken::new());
        let intake = consumer.subscribe(options, health.clone(), stop.clone()).unwrap();
        let mut state = self.state();
        state.next += 1;
        let subscriber = state.next;
        drop(state);
        let task = tokio::spawn(carry(self.clone(), subscriber, intake));
        Carrier { channel: self.clone(), subscriber, task, stop, health }
    }

    async fn unsettled(&self) -> usize {
        let state = self.state();
        state.ready.len() + state.fetched.len() + state.delayed
    }

    async fn delivered(&self) -> usize {
        self.state().fetched.len()
    }

    async fn dead_letters(&self) -> Vec<Letter> {
        self.state().dead.clone()
    }
}

mod on_sqlite {
    conformance::transport_suite!(crate::store::Sqlite<true>, crate::Channel);
}
