//! The queues, as a producer and an operator see them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::ensure;
use inbox::Health;
use inbox_amqp::lapin::options::{
    BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use inbox_amqp::lapin::types::{AMQPValue, FieldTable};
use inbox_amqp::lapin::{BasicProperties, Channel, Connection, ConnectionProperties};

pub(crate) const QUEUE: &str = "inbox-example-orders";
const DEAD: &str = "inbox-example-orders.dead";

pub(crate) struct Broker {
    channel: Channel,
    _connection: Connection,
    published: AtomicU64,
}

impl Broker {
    pub(crate) async fn connect(url: &str) -> anyhow::Result<Self> {
        let connection = Connection::connect(url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(Self { channel, _connection: connection, published: AtomicU64::new(0) })
    }

    /// As a CloudEvent in binary mode; resolves when the queue has it.
    pub(crate) async fn publish(
        &self,
        id: &str,
        event_type: &str,
        payload: Vec<u8>,
    ) -> anyhow::Result<()> {
        let mut headers = FieldTable::default();
        for (name, value) in [
            ("cloudEvents:specversion", "1.0"),
            ("cloudEvents:id", id),
            ("cloudEvents:type", event_type),
            ("cloudEvents:source", "https://shop.example/orders"),
        ] {
            headers.insert(name.into(), AMQPValue::LongString(value.into()));
        }
        let properties = BasicProperties::default().with_headers(headers).with_delivery_mode(2);
        // An unroutable message is confirmed too, after it was returned.
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let sent =
            self.channel.basic_publish("".into(), QUEUE.into(), options, &payload, properties);
        let confirmed = sent.await?.await?;
        ensure!(confirmed.is_ack() && confirmed.take_message().is_none(), "not published");
        self.published.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Waits until nothing is ready in the queue and nothing delivered is left.
    pub(crate) async fn until_all_is_settled(&self, health: &Health) -> anyhow::Result<()> {
        while self.messages_in(QUEUE).await? > 0 || health.now().unsettled > 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Of what was published, how many are no longer in the queue. RabbitMQ delivers none of them again,
    /// as nobody fails.
    pub(crate) async fn deliveries(&self) -> anyhow::Result<u64> {
        Ok(self.published.load(Ordering::Relaxed) - u64::from(self.messages_in(QUEUE).await?))
    }

    /// How many were put away.
    pub(crate) async fn dead_letters(&self) -> anyhow::Result<u64> {
        Ok(self.messages_in(DEAD).await?.into())
    }

    async fn messages_in(&self, queue: &str) -> anyhow::Result<u32> {
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let queue = self.channel.queue_declare(queue.into(), passive, FieldTable::default());
        Ok(queue.await?.message_count())
    }

    pub(crate) async fn clean_up(&self) -> anyhow::Result<()> {
        for queue in [QUEUE, DEAD] {
            self.channel.queue_delete(queue.into(), QueueDeleteOptions::default()).await?;
        }
        Ok(())
    }
}
