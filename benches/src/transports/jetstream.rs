//! NATS JetStream: a work queue in a file, and a durable pull consumer.

use std::time::Duration;

use futures_util::future::try_join_all;
use futures_util::{Stream, TryStreamExt as _};
use inbox::Consumer;
use inbox_nats::NatsSubscription;
use inbox_nats::async_nats::jetstream::consumer::{AckPolicy, pull};
use inbox_nats::async_nats::jetstream::stream::{Config, RetentionPolicy};
use inbox_nats::async_nats::jetstream::{self, Context, Message};
use inbox_nats::async_nats::{HeaderMap, connect};
use inbox_postgres::PgInboxStore;
use test_servers::nats::NatsServer;
use uuid::Uuid;

use super::{Broker, options};
use crate::message::{EVENT_TYPE, Order};

const STREAM: &str = "orders";
const DURABLE: &str = "bench";

pub(super) struct JetStream {
    jetstream: Context,
    _server: NatsServer,
}

impl Broker for JetStream {
    const NAME: &'static str = "JetStream";
    type Message = Message;

    async fn start() -> anyhow::Result<Self> {
        let server = NatsServer::start().await?;
        let jetstream = jetstream::new(connect(server.url()).await?);
        for (name, subject) in [(STREAM, STREAM), ("dead", "dead.>")] {
            let (name, subjects) = (name.to_owned(), vec![subject.to_owned()]);
            let retention = RetentionPolicy::WorkQueue;
            jetstream
                .create_stream(Config { name, subjects, retention, ..Config::default() })
                .await?;
        }
        let consumer = pull::Config {
            durable_name: Some(DURABLE.to_owned()),
            ack_policy: AckPolicy::Explicit,
            max_deliver: -1,
            max_ack_pending: 5_000,
            ..pull::Config::default()
        };
        jetstream.create_consumer_on_stream(consumer, STREAM).await?;
        Ok(Self { jetstream, _server: server })
    }

    async fn publish(&self, orders: Vec<Order>) -> anyhow::Result<()> {
        for orders in orders.chunks(100) {
            let sent = orders.iter().map(|order| {
                let mut headers = HeaderMap::new();
                headers.insert("ce-specversion", "1.0");
                headers.insert("ce-id", order.id.to_string());
                headers.insert("ce-type", EVENT_TYPE);
                headers.insert("ce-source", "bench");
                let payload = order.sku.to_string().into();
                self.jetstream.publish_with_headers(STREAM, headers, payload)
            });
            try_join_all(try_join_all(sent).await?.into_iter().map(IntoFuture::into_future))
                .await?;
        }
        Ok(())
    }

    async fn through(&self, consumer: Consumer<PgInboxStore>) -> anyhow::Result<()> {
        let subscription = NatsSubscription::new(self.jetstream.clone(), STREAM, DURABLE)
            .options(options())
            .start(&consumer)
            .await?;
        let stream = self.jetstream.get_stream(STREAM).await?;
        loop {
            let told = stream.consumer_info(DURABLE).await?;
            if told.num_pending == 0 && told.num_ack_pending == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(subscription); // its end would wait for the last pull request
        Ok(())
    }

    async fn deliveries(&self) -> anyhow::Result<impl Stream<Item = anyhow::Result<Message>>> {
        let consumer =
            self.jetstream.get_consumer_from_stream::<pull::Config, _, _>(DURABLE, STREAM);
        let messages = consumer.await?.stream().max_messages_per_batch(500).messages().await?;
        Ok(messages.map_err(anyhow::Error::from))
    }

    fn read(message: &Message) -> anyhow::Result<Order> {
        let id = message.headers.as_ref().and_then(|headers| headers.get("ce-id"));
        let id = id.map_or("", |id| id.as_str());
        let (id, sku) = (Uuid::parse_str(id)?, str::from_utf8(&message.payload)?.parse()?);
        Ok(Order { id, sku })
    }

    async fn ack(message: Message) -> anyhow::Result<()> {
        message.ack().await.map_err(anyhow::Error::from_boxed)
    }
}
