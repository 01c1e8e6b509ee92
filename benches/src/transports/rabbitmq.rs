//! RabbitMQ: a quorum queue.

use std::time::Duration;

use futures_util::future::try_join_all;
use futures_util::{Stream, TryStreamExt as _};
use inbox::Consumer;
use inbox_amqp::AmqpSubscription;
use inbox_amqp::lapin::message::Delivery;
use inbox_amqp::lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, QueueDeclareOptions,
};
use inbox_amqp::lapin::types::{AMQPValue, FieldTable};
use inbox_amqp::lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use inbox_postgres::PgInboxStore;
use test_servers::rabbitmq;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::{Broker, options};
use crate::message::{EVENT_TYPE, Order};

const QUEUE: &str = "orders";

pub(super) struct RabbitMq {
    url: String,
    connection: Connection,
    channel: Channel,
    /// Where somebody consumes by hand.
    consuming: Mutex<Option<Channel>>,
    _server: rabbitmq::RabbitMq,
}

impl RabbitMq {
    async fn ready(&self) -> anyhow::Result<u32> {
        let passive = QueueDeclareOptions { passive: true, ..Default::default() };
        let queue =
            self.channel.queue_declare(QUEUE.into(), passive, FieldTable::default()).await?;
        Ok(queue.message_count())
    }
}

impl Broker for RabbitMq {
    const NAME: &'static str = "RabbitMQ";
    type Message = Delivery;

    async fn start() -> anyhow::Result<Self> {
        let server = rabbitmq::RabbitMq::start().await?;
        let url = server.broker().url().to_owned();
        let connection = Connection::connect(&url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let mut arguments = FieldTable::default();
        arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
        arguments.insert("x-delivery-limit".into(), AMQPValue::LongInt(i32::MAX));
        let durable = QueueDeclareOptions { durable: true, ..Default::default() };
        channel.queue_declare(QUEUE.into(), durable, arguments).await?;
        Ok(Self { url, connection, channel, consuming: Mutex::default(), _server: server })
    }

    async fn publish(&self, orders: Vec<Order>) -> anyhow::Result<()> {
        for orders in orders.chunks(100) {
            let mut confirmed = Vec::with_capacity(orders.len());
            for order in orders {
                let properties = BasicProperties::default()
                    .with_delivery_mode(2)
                    .with_message_id(order.id.to_string().into())
                    .with_type(EVENT_TYPE.into());
                let (options, payload) = (BasicPublishOptions::default(), order.sku.to_string());
                let sent = self.channel.basic_publish(
                    "".into(),
                    QUEUE.into(),
                    options,
                    payload.as_bytes(),
                    properties,
                );
                confirmed.push(sent.await?);
            }
            try_join_all(confirmed).await?;
        }
        Ok(())
    }

    async fn through(&self, consumer: Consumer<PgInboxStore>) -> anyhow::Result<()> {
        let subscription =
            AmqpSubscription::new(&self.url, QUEUE).options(options()).start(&consumer).await?;
        while self.ready().await? > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        subscription.stop().await;
        Ok(())
    }

    async fn deliveries(&self) -> anyhow::Result<impl Stream<Item = anyhow::Result<Delivery>>> {
        let channel = self.connection.create_channel().await?;
        channel.basic_qos(500, BasicQosOptions::default()).await?;
        let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
        let consumer = channel.basic_consume(QUEUE.into(), "".into(), options, none).await?;
        *self.consuming.lock().await = Some(channel);
        Ok(consumer.map_err(anyhow::Error::from))
    }

    async fn leave(&self) -> anyhow::Result<()> {
        if let Some(channel) = self.consuming.lock().await.take() {
            channel.close(200, "done".into()).await?;
        }
        Ok(())
    }

    fn read(message: &Delivery) -> anyhow::Result<Order> {
        let id = message.properties.message_id().as_ref().map_or("", |id| id.as_str());
        Ok(Order { id: Uuid::parse_str(id)?, sku: str::from_utf8(&message.data)?.parse()? })
    }

    async fn ack(message: Delivery) -> anyhow::Result<()> {
        message.acker.ack(BasicAckOptions::default()).await?;
        Ok(())
    }
}
