//! Messages on their way to the queue, through lost connections.

use std::time::Duration;

use battery::{Message, Result, message};
use inbox_amqp::lapin::options::{BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions};
use inbox_amqp::lapin::types::{AMQPValue, FieldTable};
use inbox_amqp::lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::place::QUEUE;

/// A queue that has no leader after a restart confirms nothing.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct Publisher {
    url: String,
    open: Mutex<Option<(Connection, Channel)>>,
}

impl Publisher {
    pub(crate) fn to(url: &str) -> Self {
        Self { url: url.to_owned(), open: Mutex::new(None) }
    }

    pub(crate) async fn declare(&self) -> Result<()> {
        let mut arguments = FieldTable::default();
        arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
        arguments.insert("x-delivery-limit".into(), AMQPValue::LongInt(i32::MAX));
        let options = QueueDeclareOptions { durable: true, ..Default::default() };
        self.channel().await?.queue_declare(QUEUE.into(), options, arguments).await?;
        Ok(())
    }

    /// Whether the queue has confirmed it.
    pub(crate) async fn is_confirmed(&self, one: Message) -> bool {
        matches!(timeout(PATIENCE, self.publish(one)).await, Ok(Ok(true)))
    }

    async fn publish(&self, one: Message) -> Result<bool> {
        let envelope = message(one);
        let mut headers = FieldTable::default();
        for (name, value) in [
            ("cloudEvents:specversion", "1.0"),
            ("cloudEvents:id", &one.id.to_string()),
            ("cloudEvents:type", envelope.event_type()),
        ] {
            headers.insert(name.into(), AMQPValue::LongString(value.into()));
        }
        let properties = BasicProperties::default().with_headers(headers).with_delivery_mode(2);
        let options = BasicPublishOptions { mandatory: true, ..Default::default() };
        let (channel, payload) = (self.channel().await?, envelope.payload());
        let sent = channel.basic_publish("".into(), QUEUE.into(), options, payload, properties);
        let confirmed = sent.await?.await?;
        Ok(confirmed.is_ack() && confirmed.take_message().is_none())
    }

    async fn channel(&self) -> Result<Channel> {
        let mut open = self.open.lock().await;
        if let Some((_, channel)) = &*open
            && channel.status().connected()
        {
            return Ok(channel.clone());
        }
        let connection = Connection::connect(&self.url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        *open = Some((connection, channel.clone()));
        Ok(channel)
    }
}
