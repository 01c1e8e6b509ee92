//! [`Carrier`]: consumes from the queue and hands in, through lost connections, until it is stopped.

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

use crate::address::Address;
use crate::delivery::AmqpDelivery;
use crate::publish::Publisher;
use crate::read::Reading;
use crate::topology::{Declaration, short};

/// The first and the longest pause before it connects anew.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// How often the channel is looked at while there is no room for more.
const LOOK: Duration = Duration::from_secs(1);

/// How long the broker may take for the last words of a connection.
const PARTING: Duration = Duration::from_secs(5);

/// A subscription's task.
pub(crate) struct Carrier {
    pub(crate) address: Address,
    pub(crate) connection_name: String,
    pub(crate) queue: String,
    /// What is declared where it is missing.
    pub(crate) declarations: Vec<Declaration>,
    /// How many messages may be delivered and unsettled.
    pub(crate) prefetch: u16,
    pub(crate) reading: Reading,
    pub(crate) publisher: Arc<Publisher>,
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
        let mut link = first;
        let kept = loop {
            intake.health().set_connected(true);
            let lost = self.carry(&mut link, &intake).await;
            intake.health().set_connected(false);
            let Some(problem) = lost else { break Some(link) };
            tracing::warn!(
                queue = self.queue,
                "no messages are delivered: {problem}; connecting anew"
            );
            match self.connect_anew(&intake).await {
                Some(anew) => link = anew,
                None => break None,
            }
        };
        intake.drain().await;
        if let Some(link) = kept {
            let _ = timeout(PARTING, link.connection.close(200, "done".into())).await;
        }
    }

    /// Opens a connection and begins to consume.
    pub(crate) async fn connect(&self) -> Result<Link, BrokerError> {
        let connection = self.address.connect(&self.connection_name).await?;
        let consuming = async {
            for declaration in &self.declarations {
                declaration.ensure(&connection).await?;
            }
            let channel = connection.create_channel().await?;
            channel.basic_qos(self.prefetch, BasicQosOptions::default()).await?;
            let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
            let consumer = channel.basic_consume(short(&self.queue), "".into(), options, none);
            let consumer = consumer.await?;
            Ok::<_, lapin::Error>((channel, consumer))
        };
        let consuming = timeout(PARTING * 4, consuming).await;
        let (channel, consumer) = consuming.map_err(|_| "the broker does not answer")??;
        Ok(Link { connection, channel, consumer })
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
                    tracing::warn!(queue = self.queue, "cannot consume: {problem}; trying again");
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
            tracing::warn!(
                queue = self.queue,
                "the broker did not confirm the end of the consumer"
            );
        }
        while let Some(Some(Ok(message))) = link.consumer.next().now_or_never() {
            self.take(message, intake);
        }
        None
    }

    fn take(&self, message: Delivery, intake: &Intake<AmqpDelivery>) {
        let (envelope, problem) = self.reading.read(&message);
        let delivery = AmqpDelivery { message, publisher: Arc::clone(&self.publisher) };
        intake.hand_in(match problem {
            None => Incoming::new(envelope, delivery),
            Some(problem) => Incoming::unusable(envelope, problem, delivery),
        });
    }
}

/// Resolves when the channel is no more.
async fn closed(channel: &Channel) {
    while channel.status().connected() {
        sleep(LOOK).await;
    }
}
