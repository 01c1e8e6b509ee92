//! What queues are declared with.

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

/// A queue, and what it is declared with.
pub(crate) struct Declaration {
    pub(crate) queue: String,
    arguments: FieldTable,
}

impl Declaration {
    fn quorum(queue: String, others: impl IntoIterator<Item = (&'static str, AMQPValue)>) -> Self {
        let mut arguments = FieldTable::default();
        arguments.insert("x-queue-type".into(), text("quorum"));
        for (name, value) in others {
            arguments.insert(name.into(), value);
        }
        Self { queue, arguments }
    }

    /// A queue as it is best for an inbox. What others do to it (a policy's limit, a time to live, a
    /// rejection by hand) goes to the dead letters instead of being dropped.
    pub(crate) fn of_messages(queue: &str, strict: bool, dead_letters: Option<&str>) -> Self {
        let mut arguments = vec![("x-delivery-limit", AMQPValue::LongInt(NO_LIMIT))];
        if strict {
            arguments.push(("x-single-active-consumer", AMQPValue::Boolean(true)));
        }
        arguments.extend(dead_letters.into_iter().flat_map(leading_to));
        Self::quorum(queue.to_owned(), arguments)
    }

    /// Its limit, too, is none: looking at a dead letter and giving it back counts as a redelivery.
    pub(crate) fn of_dead_letters(queue: &str) -> Self {
        Self::of_messages(queue, false, None)
    }

    /// A queue from which messages come back after about this time. They are lost in no crash: the default
    /// of dead lettering is to publish without waiting for a confirmation.
    pub(crate) fn of_retries(queue: &str, after: Duration) -> Self {
        let seconds = whole_seconds(after);
        let own = [
            ("x-dead-letter-strategy", text("at-least-once")),
            ("x-overflow", text("reject-publish")), // what that strategy asks for
            ("x-message-ttl", AMQPValue::LongLongInt(i64::from(seconds) * 1_000)),
        ];
        Self::quorum(format!("{queue}.retry.{seconds}s"), own.into_iter().chain(leading_to(queue)))
    }

    pub(crate) async fn declare(&self, channel: &Channel) -> Result<(), lapin::Error> {
        let options = QueueDeclareOptions { durable: true, ..Default::default() };
        let declared = channel.queue_declare(short(&self.queue), options, self.arguments.clone());
        declared.await.map(drop)
    }

    /// Declares it where it is missing; one that is there may be another.
    pub(crate) async fn ensure(&self, connection: &Connection) -> Result<(), lapin::Error> {
        match is_there(connection, &self.queue).await? {
            true => Ok(()),
            false => self.declare(&connection.create_channel().await?).await,
        }
    }
}

/// Where expired and rejected messages go.
fn leading_to(queue: &str) -> [(&'static str, AMQPValue); 2] {
    [("x-dead-letter-exchange", text("")), ("x-dead-letter-routing-key", text(queue))]
}

/// The wait of the retry queue that is used for a wait: a power of two of seconds, so that there are few
/// queues, and each has one wait. In a queue of many waits the long ones would keep the short ones.
fn whole_seconds(wait: Duration) -> u32 {
    let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
    u32::try_from(seconds).map_or(LONGEST, |seconds| seconds.min(LONGEST).next_power_of_two())
}

/// Whether there is such a queue. A channel ends with a "no".
pub(crate) async fn is_there(connection: &Connection, queue: &str) -> Result<bool, lapin::Error> {
    let options = QueueDeclareOptions { passive: true, ..Default::default() };
    let channel = connection.create_channel().await?;
    match channel.queue_declare(short(queue), options, FieldTable::default()).await {
        Ok(_) => Ok(true),
        Err(error) if refusal(&error, AMQPSoftError::NOTFOUND).is_some() => Ok(false),
        Err(error) => Err(error),
    }
}

/// What the broker said, where it has answered with this error, which ends the channel and not the
/// connection.
pub(crate) fn refusal(error: &lapin::Error, expected: AMQPSoftError) -> Option<&str> {
    match error.kind() {
        ErrorKind::ProtocolError(answer) if *answer.kind() == AMQPErrorKind::Soft(expected) => {
            Some(answer.get_message().as_str())
        }
        _ => None,
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
