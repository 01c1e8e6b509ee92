//! The transports' suite on NATS JetStream. Each test has a server of its own, unless
//! `INBOX_TEST_NATS_URL` names one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "all of it is tests")]

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::stream::{Config, RetentionPolicy, Stream};
use async_nats::jetstream::{self, Context};
use conformance::transport::{Broker, Letter, Subscribed, attributes};
use inbox::{
    Attempts, Consumer, DeadLetters, DeliveryOrder, Envelope, Health, InboxStore,
    SubscriptionOptions,
};
use inbox_nats::{NatsSubscription, RunningNatsSubscription};
use test_servers::nats::NatsServer;
use uuid::Uuid;

mod checks;
mod letters;
mod outages;
mod reading;
#[path = "../stores/sqlite.rs"]
mod store;

const ACK_WAIT: Duration = Duration::from_secs(2);

/// A stream that keeps what is not settled, and one for dead letters.
struct Nats {
    server: Option<NatsServer>,
    jetstream: Context,
    name: String,
}

impl Nats {
    async fn stream(&self, name: &str) -> Stream {
        self.jetstream.get_stream(name).await.unwrap()
    }

    /// Where the dead letters of this test are.
    fn dead(&self) -> String {
        format!("dead-{}", self.name)
    }

    async fn create_dead_letters(&self) {
        let subjects = vec![format!("dead.{}.>", self.name)];
        let config = Config { name: self.dead(), subjects, ..Config::default() };
        self.jetstream.create_stream(config).await.unwrap();
    }

    async fn create_consumer(&self, strict: bool) {
        let config = pull::Config {
            durable_name: Some("suite".to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACK_WAIT,
            max_deliver: -1,
            max_ack_pending: if strict { 1 } else { 1_000 },
            ..pull::Config::default()
        };
        self.stream(&self.name).await.create_consumer(config).await.unwrap();
    }

    fn subscription(&self) -> NatsSubscription {
        NatsSubscription::new(self.jetstream.clone(), &self.name, "suite")
    }

    async fn letter(&self, sequence: u64) -> Letter {
        let message = self.stream(&self.dead()).await.get_raw_message(sequence).await.unwrap();
        let header = |name: &str| message.headers.get(name).unwrap().as_str().to_owned();
        assert_eq!(header("Inbox-Subject"), format!("{}.messages", self.name));
        Letter {
            payload: message.payload.to_vec(),
            reason: header("Inbox-Reason"),
            error: header("Inbox-Error"),
            attempts: header("Inbox-Attempts").parse().unwrap(),
            consumer: header("Inbox-Consumer"),
        }
    }

    async fn send(&self, headers: HeaderMap, payload: Vec<u8>) {
        let subject = format!("{}.messages", self.name);
        let sent = self.jetstream.publish_with_headers(subject, headers, payload.into()).await;
        sent.unwrap().await.unwrap();
    }
}

struct Running(RunningNatsSubscription);

impl Subscribed for Running {
    fn health(&self) -> Health {
        self.0.health().clone()
    }

    async fn stop(self) {
        self.0.stop().await;
    }

    async fn kill(self) {
        drop(self.0);
        tokio::task::yield_now().await;
    }
}

impl Broker for Nats {
    type Subscribed = Running;

    async fn start() -> Self {
        let (server, url) = match std::env::var("INBOX_TEST_NATS_URL") {
            Ok(url) => (None, url),
            Err(_) => {
                let server = NatsServer::start().await.unwrap();
                let url = server.url();
                (Some(server), url)
            }
        };
        let jetstream = jetstream::new(async_nats::connect(url).await.unwrap());
        let nats = Self { server, jetstream, name: Uuid::new_v4().simple().to_string() };
        let config = Config {
            name: nats.name.clone(),
            subjects: vec![format!("{}.>", nats.name)],
            retention: RetentionPolicy::WorkQueue,
            ..Config::default()
        };
        nats.jetstream.create_stream(config).await.unwrap();
        nats.create_dead_letters().await;
        nats
    }

    async fn publish(&self, envelope: &Envelope) {
        let mut headers = HeaderMap::new();
        for (name, value) in attributes(envelope) {
            headers.insert(format!("ce-{name}"), value);
        }
        self.send(headers, envelope.payload().to_vec()).await;
    }

    async fn publish_unusable(&self) {
        let mut headers = HeaderMap::new();
        headers.insert("Content-Type", "application/cloudevents+json");
        self.send(headers, b"{".to_vec()).await;
    }

    async fn subscribe<S: InboxStore + Attempts + DeadLetters>(
        &self,
        consumer: Consumer<S>,
        options: SubscriptionOptions,
    ) -> Running {
        self.create_consumer(options.delivery_order() == DeliveryOrder::Strict).await;
        Running(self.subscription().options(options).start(&consumer).await.unwrap())
    }

    async fn unsettled(&self) -> usize {
        self.stream(&self.name).await.cached_info().state.messages as usize
    }

    async fn delivered(&self) -> usize {
        let stream = self.stream(&self.name).await;
        stream.consumer_info("suite").await.unwrap().num_ack_pending
    }

    async fn dead_letters(&self) -> Vec<Letter> {
        let last = self.stream(&self.dead()).await.cached_info().state.last_sequence;
        let mut letters = Vec::new();
        for sequence in 1..=last {
            letters.push(self.letter(sequence).await);
        }
        letters
    }
}

mod on_sqlite {
    conformance::transport_suite!(crate::store::Sqlite<true>, crate::Nats);
}
