//! [`Publisher`]: retries and dead letters, published and confirmed.

use std::time::Duration;

use inbox::{BrokerError, DeadLetter};
use lapin::message::Delivery;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::uri::AMQPUri;
use lapin::{BasicProperties, Channel, Confirmation, Connection};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::topology::{Declaration, is_there, short};
use crate::{address, headers};

/// How long it takes at most; shorter than the core waits for a settlement.
const PATIENCE: Duration = Duration::from_secs(8);

/// Publishes on a connection of its own, opened when it is needed: under a memory or disk alarm the broker
/// stops to read from connections that publish, and acknowledgements must not be stuck there.
pub(crate) struct Publisher {
    pub(crate) address: AMQPUri,
    pub(crate) connection_name: String,
    pub(crate) queue: String,
    pub(crate) dead_letters: String,
    /// Locked until a message is confirmed: where several are under way, the client may take the broker's
    /// "no such queue" for one as the answer to another.
    pub(crate) open: Mutex<Option<Open>>,
}

/// What ends with the first failure.
pub(crate) struct Open {
    connection: Connection,
    channel: Channel,
}

impl Publisher {
    /// Has the message come back to its queue after about this time.
    pub(crate) async fn retry(
        &self,
        message: &Delivery,
        after: Duration,
    ) -> Result<(), BrokerError> {
        let retries = Declaration::of_retries(&self.queue, after);
        self.with_open(async |open: &mut Open| {
            retries.declare(&open.channel).await?;
            open.publish(&retries.queue, message, headers::of_retry(message)).await
        })
        .await
    }

    /// Puts the message away.
    pub(crate) async fn put_away(
        &self,
        message: &Delivery,
        letter: &DeadLetter,
    ) -> Result<(), BrokerError> {
        self.with_open(async |open: &mut Open| {
            let queue = &self.dead_letters;
            // What nobody takes comes back, and the client would print the message.
            if !is_there(&open.connection, queue).await? {
                return Err(format!("there is no queue `{queue}`").into());
            }
            open.publish(queue, message, headers::of_letter(message, letter)).await
        })
        .await
    }

    /// Whatever fails, or is given up, takes the connection along: the next one begins anew.
    async fn with_open(
        &self,
        publish: impl AsyncFnOnce(&mut Open) -> Result<(), BrokerError>,
    ) -> Result<(), BrokerError> {
        let publishing = async {
            let mut kept = self.open.lock().await;
            let mut open = match kept.take() {
                Some(open) => open,
                None => self.connect().await?,
            };
            publish(&mut open).await?;
            *kept = Some(open);
            Ok(())
        };
        timeout(PATIENCE, publishing).await.map_err(|_| "no confirmation from the broker")?
    }

    async fn connect(&self) -> Result<Open, BrokerError> {
        let connection = address::connect(&self.address, &self.connection_name).await?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(Open { connection, channel })
    }
}

impl Open {
    /// To a queue, by the default exchange.
    async fn publish(
        &self,
        queue: &str,
        message: &Delivery,
        properties: BasicProperties,
    ) -> Result<(), BrokerError> {
        let options = BasicPublishOptions { mandatory: true, ..Default::default() };
        let (channel, payload) = (&self.channel, &message.data);
        let sent = channel.basic_publish("".into(), short(queue), options, payload, properties);
        match sent.await?.await? {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(_)) => Err(format!("there is no queue `{queue}`").into()),
            Confirmation::Nack(_) => Err(format!("the queue `{queue}` refused a message").into()),
            Confirmation::NotRequested => Err("the broker confirms nothing".into()),
        }
    }
}
