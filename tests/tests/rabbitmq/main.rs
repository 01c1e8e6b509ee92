//! The transports' suite on RabbitMQ. All tests share one broker, each with queues of its own; those that
//! end a broker have one of their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "all of it is tests")]

use std::sync::Mutex;

use conformance::transport::{Broker, Letter, Subscribed, attributes};
use inbox::{
    Attempts, Consumer, DeadLetters, DeliveryOrder, Envelope, Health, InboxStore,
    SubscriptionOptions,
};
use inbox_amqp::lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions,
    QueueDeleteOptions,
};
use inbox_amqp::lapin::types::{AMQPValue, FieldTable};
use inbox_amqp::lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use inbox_amqp::{AmqpSubscription, RunningAmqpSubscription};
use test_servers::rabbitmq;
use uuid::Uuid;

mod checks;
mod outages;
mod reading;
#[path = "../stores/sqlite.rs"]
mod store;

/// The retry queues that tests come to.
const RETRIES: [&str; 4] = [".retry.1s", ".retry.2s", ".retry.4s", ".retry.8s"];

type Published = (BasicProperties, Vec<u8>);

/// A queue, those of its retries and the one of its dead letters.
struct Rabbit {
    broker: rabbitmq::Broker,
    connection: tokio::sync::Mutex<Connection>,
    queue: String,
    /// What was published before there is a queue: the first subscription says what kind of one.
    early: tokio::sync::Mutex<Option<Vec<Published>>>,
    subscribed: Mutex<Vec<Health>>,
}

impl Rabbit {
    async fn at(broker: rabbitmq::Broker) -> Self {
        let connection = tokio::sync::Mutex::new(connect(&broker).await);
        let queue = Uuid::new_v4().simple().to_string();
        let early = tokio::sync::Mutex::new(Some(Vec::new()));
        Self { broker, connection, queue, early, subscribed: Mutex::default() }
    }

    async fn channel(&self) -> Channel {
        let mut connection = self.connection.lock().await;
        if !connection.status().connected() {
            *connection = connect(&self.broker).await;
        }
        connection.create_channel().await.unwrap()
    }

    fn subscription(&self) -> AmqpSubscription {
        AmqpSubscription::new(self.broker.url(), &self.queue)
    }

    /// The queue and its retries.
    fn queues(&self) -> Vec<String> {
        let retries = RETRIES.iter().map(|retry| format!("{}{retry}", self.queue));
        std::iter::once(self.queue.clone()).chain(retries).collect()
    }

    /// To the queue, when it is there.
    async fn send(&self, properties: BasicProperties, payload: &[u8]) {
        if let Some(early) = &mut *self.early.lock().await {
            return early.push((properties, payload.to_vec()));
        }
        self.send_to(&self.queue, properties, payload).await;
    }

    async fn send_to(&self, queue: &str, properties: BasicProperties, payload: &[u8]) {
        let channel = self.channel().await;
        channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
        let options = BasicPublishOptions { mandatory: true, ..Default::default() };
        let properties = properties.with_delivery_mode(2);
        let sent =
            channel.basic_publish("".into(), queue.into(), options, payload, properties).await;
        let confirmed = sent.unwrap().await.unwrap();
        assert!(confirmed.is_ack() && confirmed.take_message().is_none());
    }

    /// Declares the queue where there is none yet, and sends what was published before.
    async fn begin(&self, arguments: &[(&str, AMQPValue)]) {
        let Some(early) = self.early.lock().await.take() else { return };
        self.declare(&self.queue, arguments).await;
        for (properties, payload) in early {
            self.send(properties, &payload).await;
        }
    }

    async fn declare(&self, queue: &str, arguments: &[(&str, AMQPValue)]) {
        let options = QueueDeclareOptions { durable: true, ..Default::default() };
        let channel = self.channel().await;
        channel.queue_declare(queue.into(), options, table(arguments)).await.unwrap();
    }

    async fn delete(&self, queue: &str) {
        let channel = self.channel().await;
        channel.queue_delete(queue.into(), QueueDeleteOptions::default()).await.unwrap();
    }

    async fn is_there(&self, queue: &str) -> bool {
        let options = QueueDeclareOptions { passive: true, ..Default::default() };
        let channel = self.channel().await;
        channel.queue_declare(queue.into(), options, FieldTable::default()).await.is_ok()
    }

    /// All, and those that are delivered.
    async fn count(&self) -> (usize, usize) {
        if let Some(counted) = self.broker.count(&self.queues()).await.unwrap() {
            return counted;
        }
        // Somebody else's broker tells only what is ready.
        let delivered: usize =
            self.subscribed.lock().unwrap().iter().map(|health| health.now().unsettled).sum();
        let mut ready = 0;
        for queue in self.queues() {
            ready += self.ready(&queue).await;
        }
        (ready + delivered, delivered)
    }

    async fn ready(&self, queue: &str) -> usize {
        let options = QueueDeclareOptions { passive: true, ..Default::default() };
        let channel = self.channel().await;
        let queue = channel.queue_declare(queue.into(), options, FieldTable::default()).await;
        queue.map_or(0, |queue| queue.message_count() as usize)
    }
}

async fn connect(broker: &rabbitmq::Broker) -> Connection {
    Connection::connect(broker.url(), ConnectionProperties::default()).await.unwrap()
}

struct Running(RunningAmqpSubscription);

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

impl Broker for Rabbit {
    type Subscribed = Running;

    async fn start() -> Self {
        Self::at(rabbitmq::Broker::shared().await.unwrap()).await
    }

    async fn publish(&self, envelope: &Envelope) {
        self.send(in_headers(envelope), envelope.payload()).await;
    }

    async fn publish_unusable(&self) {
        let structured = "application/cloudevents+json";
        self.send(BasicProperties::default().with_content_type(structured.into()), b"{").await;
    }

    async fn subscribe<S: InboxStore + Attempts + DeadLetters>(
        &self,
        consumer: Consumer<S>,
        options: SubscriptionOptions,
    ) -> Running {
        let strict = options.delivery_order() == DeliveryOrder::Strict;
        self.begin(&right(strict)).await;
        let subscription = self.subscription().options(options);
        let running = Running(subscription.start(&consumer).await.unwrap());
        self.subscribed.lock().unwrap().push(running.health());
        running
    }

    async fn unsettled(&self) -> usize {
        self.count().await.0
    }

    async fn delivered(&self) -> usize {
        self.count().await.1
    }

    async fn dead_letters(&self) -> Vec<Letter> {
        let channel = self.channel().await; // its end gives back what was got
        let mut letters = Vec::new();
        let queue = format!("{}.dead", self.queue);
        let options = BasicGetOptions::default();
        while let Ok(Some(message)) = channel.basic_get(queue.as_str().into(), options).await {
            letters.push(letter(&message.delivery.properties, message.delivery.data.clone()));
        }
        letters
    }
}

/// What a queue is declared with.
fn right(strict: bool) -> [(&'static str, AMQPValue); 3] {
    [
        ("x-queue-type", text("quorum")),
        ("x-delivery-limit", AMQPValue::LongInt(i32::MAX)),
        ("x-single-active-consumer", AMQPValue::Boolean(strict)),
    ]
}

/// A CloudEvent in binary mode.
fn in_headers(envelope: &Envelope) -> BasicProperties {
    let mut headers = FieldTable::default();
    for (name, value) in attributes(envelope) {
        headers.insert(format!("cloudEvents:{name}").into(), text(&value));
    }
    BasicProperties::default().with_headers(headers)
}

fn letter(properties: &BasicProperties, payload: Vec<u8>) -> Letter {
    let headers = properties.headers().as_ref().unwrap().inner();
    let text = |name: &str| match headers.get(name) {
        Some(AMQPValue::LongString(text)) => text.to_string(),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(*properties.delivery_mode(), Some(2));
    let Some(AMQPValue::LongLongInt(attempts)) = headers.get("inbox-attempts") else { panic!() };
    Letter {
        payload,
        reason: text("inbox-reason"),
        error: text("inbox-error"),
        attempts: u32::try_from(*attempts).unwrap(),
        consumer: text("inbox-consumer"),
    }
}

fn table(arguments: &[(&str, AMQPValue)]) -> FieldTable {
    let mut table = FieldTable::default();
    for (name, value) in arguments {
        table.insert((*name).into(), value.clone());
    }
    table
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}

mod on_sqlite {
    conformance::transport_suite!(crate::store::Sqlite<true>, crate::Rabbit);
}
