//! The queues of a subscription: their names, and what they are declared with.

use std::time::Duration;

use lapin::options::QueueDeclareOptions;
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{Channel, Connection, ErrorKind};

/// As good as none. RabbitMQ 4 gives a queue that names none a limit of 20, after which messages are
/// dropped; to `-1` RabbitMQ 4 says "none", and RabbitMQ 3 drops every message at its first redelivery.
pub(crate) const NO_LIMIT: i32 = i32::MAX;

/// More than the longest wait of a retry policy, which is a day.
const LONGEST: u32 = 1 << 17;

/// The queues of a subscription by name.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) queue: String,
    pub(crate) dead_letters: String,
}

/// What a queue is declared with.
pub(crate) struct Declaration {
    pub(crate) name: String,
    arguments: FieldTable,
}

impl Names {
    /// A queue as it is best for an inbox. What others do to it (a policy's limit, a time to live, a
    /// rejection by hand) goes to the dead letters instead of being dropped.
    pub(crate) fn queue(&self, strict: bool, with_dead_letters: bool) -> Declaration {
        let mut declaration = Declaration::quorum(&self.queue);
        declaration.set("x-delivery-limit", AMQPValue::LongInt(NO_LIMIT));
        if strict {
            declaration.set("x-single-active-consumer", AMQPValue::Boolean(true));
        }
        if with_dead_letters {
            declaration.leads_to(&self.dead_letters);
        }
        declaration
    }

    /// Its limit, too, is none: looking at a dead letter and giving it back counts as a redelivery.
    pub(crate) fn dead_letters(&self) -> Declaration {
        let mut declaration = Declaration::quorum(&self.dead_letters);
        declaration.set("x-delivery-limit", AMQPValue::LongInt(NO_LIMIT));
        declaration
    }

    /// A queue from which messages come back after so many seconds. They are lost in no crash: the
    /// default of dead lettering is to publish without waiting for a confirmation.
    pub(crate) fn retries_after(&self, seconds: u32) -> Declaration {
        let mut declaration = Declaration::quorum(&format!("{}.retry.{seconds}s", self.queue));
        declaration.leads_to(&self.queue);
        declaration.set("x-dead-letter-strategy", text("at-least-once"));
        declaration.set("x-overflow", text("reject-publish")); // what that strategy asks for
        let time = i64::from(seconds) * 1_000;
        declaration.set("x-message-ttl", AMQPValue::LongLongInt(time));
        declaration
    }
}

/// The wait of the retry queue that is used for a wait: a power of two of seconds, so that there are few
/// queues, and each has one wait. In a queue of many waits the long ones would keep the short ones.
pub(crate) fn whole_seconds(wait: Duration) -> u32 {
    let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
    u32::try_from(seconds).map_or(LONGEST, |seconds| seconds.min(LONGEST).next_power_of_two())
}

impl Declaration {
    fn quorum(name: &str) -> Self {
        let mut declaration = Self { name: name.to_owned(), arguments: FieldTable::default() };
        declaration.set("x-queue-type", text("quorum"));
        declaration
    }

    fn set(&mut self, name: &str, value: AMQPValue) {
        self.arguments.insert(name.into(), value);
    }

    fn leads_to(&mut self, queue: &str) {
        self.set("x-dead-letter-exchange", text(""));
        self.set("x-dead-letter-routing-key", text(queue));
    }

    pub(crate) async fn declare(&self, channel: &Channel) -> Result<(), lapin::Error> {
        let options = QueueDeclareOptions { durable: true, ..Default::default() };
        let declared = channel.queue_declare(short(&self.name), options, self.arguments.clone());
        declared.await.map(drop)
    }

    /// Declares it where it is missing; one that is there may be another.
    pub(crate) async fn ensure(&self, connection: &Connection) -> Result<(), lapin::Error> {
        match is_there(connection, &self.name).await? {
            true => Ok(()),
            false => self.declare(&connection.create_channel().await?).await,
        }
    }
}

/// Whether there is such a queue. A channel ends with a "no".
pub(crate) async fn is_there(connection: &Connection, queue: &str) -> Result<bool, lapin::Error> {
    let options = QueueDeclareOptions { passive: true, ..Default::default() };
    let channel = connection.create_channel().await?;
    match channel.queue_declare(short(queue), options, FieldTable::default()).await {
        Ok(_) => Ok(true),
        Err(error) if is_soft(&error, AMQPSoftError::NOTFOUND) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the broker has answered with this error, which ends the channel and not the connection.
pub(crate) fn is_soft(error: &lapin::Error, expected: AMQPSoftError) -> bool {
    match error.kind() {
        ErrorKind::ProtocolError(error) => *error.kind() == AMQPErrorKind::Soft(expected),
        _ => false,
    }
}

pub(crate) fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}

/// AMQP's names are shorter than 256 bytes; the subscription refuses longer ones at its start.
pub(crate) fn short(name: &str) -> ShortString {
    ShortString::try_new(name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_rounded_up_to_powers_of_two() {
        for (milliseconds, seconds) in
            [(1, 1), (1_000, 1), (1_001, 2), (3_000, 4), (86_400_000, 131_072)]
        {
            assert_eq!(whole_seconds(Duration::from_millis(milliseconds)), seconds);
        }
        assert_eq!(whole_seconds(Duration::MAX), LONGEST);
    }
}
