//! The streams and the consumer, as an operator would make them.

use std::time::Duration;

use inbox_nats::async_nats;
use inbox_nats::async_nats::HeaderMap;
use inbox_nats::async_nats::jetstream::consumer::{AckPolicy, pull};
use inbox_nats::async_nats::jetstream::stream::{Config, RetentionPolicy};
use inbox_nats::async_nats::jetstream::{self, Context};

pub(crate) const STREAM: &str = "inbox-example-orders";
pub(crate) const DURABLE: &str = "stock-service";
const DEAD: &str = "inbox-example-dead-letters";
const SUBJECT: &str = "inbox-example.orders";

pub(crate) struct Broker {
    pub(crate) jetstream: Context,
}

impl Broker {
    pub(crate) async fn connect(url: &str) -> anyhow::Result<Self> {
        let jetstream = jetstream::new(async_nats::connect(url).await?);
        for (name, subject, retention) in [
            (STREAM, SUBJECT.to_owned(), RetentionPolicy::WorkQueue),
            (DEAD, format!("dead.{STREAM}.>"), RetentionPolicy::Limits),
        ] {
            let (name, subjects) = (name.to_owned(), vec![subject]);
            let config = Config { name, subjects, retention, ..Config::default() };
            jetstream.create_stream(config).await?;
        }
        let consumer = pull::Config {
            durable_name: Some(DURABLE.to_owned()),
            ack_policy: AckPolicy::Explicit,
            max_deliver: -1, // the inbox puts away what cannot be processed
            ..pull::Config::default()
        };
        jetstream.create_consumer_on_stream(consumer, STREAM).await?;
        Ok(Self { jetstream })
    }

    /// As a CloudEvent in binary mode; resolves when the stream has it.
    pub(crate) async fn publish(
        &self,
        id: &str,
        event_type: &str,
        payload: Vec<u8>,
    ) -> anyhow::Result<()> {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("ce-specversion", "1.0"),
            ("ce-id", id),
            ("ce-type", event_type),
            ("ce-source", "https://shop.example/orders"),
        ] {
            headers.insert(name, value);
        }
        let sent = self.jetstream.publish_with_headers(SUBJECT, headers, payload.into());
        sent.await?.await?;
        Ok(())
    }

    /// Waits until every message is settled, and answers how many deliveries that took.
    pub(crate) async fn settled(&self) -> anyhow::Result<u64> {
        let stream = self.jetstream.get_stream(STREAM).await?;
        loop {
            let consumer = stream.consumer_info(DURABLE).await?;
            if consumer.num_pending == 0 && consumer.num_ack_pending == 0 {
                return Ok(consumer.delivered.consumer_sequence);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// How many were put away.
    pub(crate) async fn dead_letters(&self) -> anyhow::Result<u64> {
        Ok(self.jetstream.get_stream(DEAD).await?.cached_info().state.messages)
    }

    pub(crate) async fn clean_up(&self) -> anyhow::Result<()> {
        for stream in [STREAM, DEAD] {
            self.jetstream.delete_stream(stream).await?;
        }
        Ok(())
    }
}
