//! [`Carrier`]: consumes from the queue and hands in, through lost connections, until it is stopped.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::{FutureExt as _, StreamExt as _};
use inbox::{BrokerError, Incoming, Intake};
use lapin::message::Delivery;
use lapin::options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Connection, Consumer};
use tokio::time::{sleep, timeout};

use crate::delivery::AmqpDelivery;
use crate::publish::Publisher;
use crate::subscription::AmqpSubscription;
use crate::topology::short;
use crate::{address, read};

/// The first and the longest pause before it connects anew.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// How often the channel is looked at while there is no room for more.
const LOOK: Duration = Duration::from_secs(1);

/// How long the broker may take for the last words of a connection.
const PARTING: Duration = Duration::from_secs(5);

/// A subscription's task.
pub(crate) struct Carrier {
    pub(crate) subscription: AmqpSubscription,
    pub(crate) publisher: Arc<Publisher>,
    pub(crate) connection_name: String,
}

/// A connection that consumes.
pub(crate) struct Link {
    connection: Connection,
    channel: Channel,
    consumer: Consumer,
}

impl Carrier {
    /// Consumes until the subscription is to end, and finishes what was delivered.
    pub(crate) async fn run(self, first: Link, intake: Intake<AmqpDelivery>) {
        let mut link = Some(first);
        while let Some(open) = &mut link {
            intake.health().set_connected(true);
            let lost = self.carry(open, &intake).await;
            intake.health().set_connected(false);
            let Some(problem) = lost else { break };
            self.warn(format_args!("no messages are delivered: {problem}; connecting anew"));
            link = self.connect_anew(&intake).await;
        }
        intake.drain().await;
        if let Some(link) = link {
            let _ = timeout(PARTING, link.connection.close(200, "done".into())).await;
        }
    }

    /// Opens a connection and begins to consume.
    pub(crate) async fn connect(&self) -> Result<Link, BrokerError> {
        let address = &self.publisher.address;
        let connection = address::connect(address, &self.connection_name).await?;
        let consuming = timeout(PARTING * 4, self.consume(&connection)).await;
        let (channel, consumer) = consuming.map_err(|_| "the broker does not answer")??;
        Ok(Link { connection, channel, consumer })
    }

    async fn consume(&self, connection: &Connection) -> Result<(Channel, Consumer), lapin::Error> {
        for declaration in self.subscription.declarations() {
            declaration.ensure(connection).await?;
        }
        let channel = connection.create_channel().await?;
        // As many as may be unsettled.
        let most = self.subscription.options.most_unsettled();
        let prefetch = u16::try_from(most).unwrap_or(u16::MAX);
        channel.basic_qos(prefetch, BasicQosOptions::default()).await?;
        let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
        let queue = short(&self.subscription.queue);
        let consumer = channel.basic_consume(queue, "".into(), options, none).await?;
        Ok((channel, consumer))
    }

    /// For as long as it takes; `None` when the subscription is to end.
    async fn connect_anew(&self, intake: &Intake<AmqpDelivery>) -> Option<Link> {
        let (mut pause, longest) = PAUSES;
        loop {
            let spread = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
            let connecting = async {
                sleep(spread).await;
                self.connect().await
            };
            match select(pin!(connecting), pin!(intake.stopping())).await {
                Either::Left((Ok(link), _)) => return Some(link),
                Either::Left((Err(problem), _)) => {
                    self.warn(format_args!("cannot consume: {problem}; trying again"));
                }
                Either::Right(_) => return None,
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// Hands in what is delivered. What is wrong with the link, or `None` at the subscription's end.
    async fn carry(&self, link: &mut Link, intake: &Intake<AmqpDelivery>) -> Option<String> {
        loop {
            // A new connection has a prefetch of its own, besides what is left of the one before.
            match select(pin!(intake.room()), pin!(closed(&link.channel))).await {
                Either::Left((Some(_), _)) => {}
                Either::Left((None, _)) => break,
                Either::Right(_) => return Some("the channel was closed".to_owned()),
            }
            match select(link.consumer.next(), pin!(intake.stopping())).await {
                Either::Left((Some(Ok(message)), _)) => self.take(message, intake),
                Either::Left((Some(Err(error)), _)) => return Some(error.to_string()),
                Either::Left((None, _)) => return Some("the broker ended the consumer".to_owned()),
                Either::Right(_) => {}
            }
        }
        let cancelled =
            link.channel.basic_cancel(link.consumer.tag(), BasicCancelOptions::default());
        if !matches!(timeout(PARTING, cancelled).await, Ok(Ok(()))) {
            self.warn(format_args!("the broker did not confirm the end of the consumer"));
        }
        while let Some(Some(Ok(message))) = link.consumer.next().now_or_never() {
            self.take(message, intake);
        }
        None
    }

    fn take(&self, message: Delivery, intake: &Intake<AmqpDelivery>) {
        let (envelope, unusable) = read::read(&message, self.subscription.source.as_deref());
        let broker = AmqpDelivery { message, publisher: Arc::clone(&self.publisher) };
        intake.hand_in(Incoming { envelope, unusable, broker });
    }

    fn warn(&self, what: fmt::Arguments<'_>) {
        tracing::warn!(queue = self.subscription.queue, "{what}");
    }
}

/// Resolves when the channel is no more.
async fn closed(channel: &Channel) {
    while channel.status().connected() {
        sleep(LOOK).await;
    }
}
