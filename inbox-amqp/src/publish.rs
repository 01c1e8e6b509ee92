//! [`Publisher`]: retries and dead letters, published and confirmed.

use std::time::Duration;

use inbox::BrokerError;
use lapin::Confirmation;
use lapin::message::Delivery;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{BasicProperties, Channel, Connection};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::address::Address;
use crate::topology::{Names, is_there, short, whole_seconds};

/// How long it takes at most; shorter than the core waits for a settlement.
const PATIENCE: Duration = Duration::from_secs(8);

/// Publishes on a connection of its own, opened when it is needed: under a memory or disk alarm the broker
/// stops to read from connections that publish, and acknowledgements must not be stuck there.
#[derive(Debug)]
pub(crate) struct Publisher {
    pub(crate) address: Address,
    pub(crate) connection_name: String,
    pub(crate) names: Names,
    /// Locked until a message is confirmed: where several are under way, the client may take the broker's
    /// "no such queue" for one as the answer to another.
    pub(crate) open: Mutex<Option<Open>>,
}

/// What ends with the first failure.
#[derive(Debug)]
pub(crate) struct Open {
    connection: Connection,
    channel: Channel,
}

impl Publisher {
    /// Has the message come back to its queue after about this time.
    pub(crate) async fn retry(
        &self,
        message: &Delivery,
        properties: BasicProperties,
        after: Duration,
    ) -> Result<(), BrokerError> {
        let retries = self.names.retries_after(whole_seconds(after));
        let publish = self.with_open(async |open: &mut Open| {
            retries.declare(&open.channel).await?;
            open.publish(&retries.name, properties, &message.data).await
        });
        timeout(PATIENCE, publish).await.unwrap_or_else(|_| Err(silent()))
    }

    /// Puts the message away.
    pub(crate) async fn put_away(
        &self,
        message: &Delivery,
        properties: BasicProperties,
    ) -> Result<(), BrokerError> {
        let queue = &self.names.dead_letters;
        let publish = self.with_open(async |open: &mut Open| {
            // What nobody takes comes back, and the client would print the message.
            if !is_there(&open.connection, queue).await? {
                return Err(format!("there is no queue `{queue}`").into());
            }
            open.publish(queue, properties, &message.data).await
        });
        timeout(PATIENCE, publish).await.unwrap_or_else(|_| Err(silent()))
    }

    /// Whatever fails, or is given up, takes the connection along: the next one begins anew.
    async fn with_open(
        &self,
        publish: impl AsyncFnOnce(&mut Open) -> Result<(), BrokerError>,
    ) -> Result<(), BrokerError> {
        let mut kept = self.open.lock().await;
        let mut open = match kept.take() {
            Some(open) => open,
            None => self.connect().await?,
        };
        publish(&mut open).await?;
        *kept = Some(open);
        Ok(())
    }

    async fn connect(&self) -> Result<Open, BrokerError> {
        let connection = self.address.connect(&self.connection_name).await?;
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
        properties: BasicProperties,
        payload: &[u8],
    ) -> Result<(), BrokerError> {
        let options = BasicPublishOptions { mandatory: true, ..Default::default() };
        let sent =
            self.channel.basic_publish("".into(), short(queue), options, payload, properties);
        match sent.await?.await? {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(_)) => Err(format!("there is no queue `{queue}`").into()),
            Confirmation::Nack(_) => Err(format!("the queue `{queue}` refused a message").into()),
            Confirmation::NotRequested => Err("the broker confirms nothing".into()),
        }
    }
}

fn silent() -> BrokerError {
    "no confirmation from the broker".into()
}
