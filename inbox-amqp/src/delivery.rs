//! One delivered message, and how it is settled.

use std::sync::Arc;
use std::time::Duration;

use inbox::{BrokerError, DeadLetter, Settle};
use lapin::Acker;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicNackOptions};
use tokio::time::sleep;

use crate::publish::Publisher;

/// How long a message is kept at most that could not be published to a retry queue.
const LONGEST_KEPT: Duration = Duration::from_secs(60);

/// A message on its way through the inbox.
pub(crate) struct AmqpDelivery {
    pub(crate) message: Delivery,
    pub(crate) publisher: Arc<Publisher>,
}

impl Settle for AmqpDelivery {
    async fn ack(&self) -> Result<(), BrokerError> {
        heard(self.message.acker.ack(BasicAckOptions::default()).await)
    }

    /// A message given back by hand is delivered again at once, so one that has to wait goes to a retry
    /// queue first, and is acknowledged when it is there.
    async fn retry(&self, after: Duration) -> Result<(), BrokerError> {
        if after.is_zero() {
            return give_back(&self.message.acker).await;
        }
        if !self.message.acker.usable() {
            // The broker delivers it again by itself, beside the copy in a retry queue.
            return heard(Ok(false));
        }
        match self.publisher.retry(&self.message, after).await {
            Ok(()) => self.ack().await,
            Err(error) => {
                self.give_back_after(after.min(LONGEST_KEPT));
                Err(error)
            }
        }
    }

    async fn dead_letter(&self, letter: &DeadLetter) -> Result<(), BrokerError> {
        self.publisher.put_away(&self.message, letter).await?;
        if let Err(error) = self.ack().await {
            tracing::warn!("a dead letter is put away, and its message not acknowledged: {error}");
        }
        Ok(()) // else it would be put away again and again
    }
}

impl AmqpDelivery {
    /// An open channel keeps what is neither acknowledged nor given back, for ever: nothing would deliver
    /// the message again.
    fn give_back_after(&self, time: Duration) {
        let acker = self.message.acker.clone();
        tokio::spawn(async move {
            sleep(time).await;
            let _ = give_back(&acker).await; // an error means that the channel is gone, which gives it back
        });
    }
}

async fn give_back(acker: &Acker) -> Result<(), BrokerError> {
    heard(acker.nack(BasicNackOptions { requeue: true, ..Default::default() }).await)
}

/// The client answers `false` where there is no channel any more to say it on.
fn heard(said: lapin::Result<bool>) -> Result<(), BrokerError> {
    said?.then_some(()).ok_or_else(|| "the channel on which it was delivered is gone".into())
}
