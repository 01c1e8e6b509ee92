//! What a queue was declared with, as far as AMQP tells: not at all, unless one declares it differently.

use std::collections::BTreeMap;

use lapin::Connection;
use lapin::options::QueueDeclareOptions;
use lapin::protocol::AMQPSoftError;
use lapin::types::{AMQPValue, ShortString};

use crate::headers::number;
use crate::topology::{is_there, refusal, short, text};

/// More arguments than any queue has.
const MOST: usize = 40;

/// A queue that is there.
pub(crate) struct Found {
    /// `durable` and `auto_delete` among them.
    arguments: BTreeMap<ShortString, AMQPValue>,
    /// The broker's answer that could not be understood, so that there may be more arguments.
    pub(crate) not_understood: Option<String>,
}

impl Found {
    pub(crate) fn has(&self, argument: &str) -> bool {
        self.arguments.contains_key(argument)
    }

    pub(crate) fn is(&self, argument: &str, value: &str) -> bool {
        self.arguments.get(argument) == Some(&text(value))
    }

    pub(crate) fn is_set(&self, argument: &str) -> bool {
        self.arguments.get(argument) == Some(&AMQPValue::Boolean(true))
    }

    pub(crate) fn number(&self, argument: &str) -> Option<i64> {
        self.arguments.get(argument).and_then(number)
    }

    /// Declares the queue as it is known so far, which changes nothing. What the broker says where it is
    /// another.
    async fn difference(
        &self,
        connection: &Connection,
        queue: &str,
    ) -> Result<Option<String>, lapin::Error> {
        let mut arguments = self.arguments.clone();
        let mut take = |name| arguments.remove(name) == Some(AMQPValue::Boolean(true));
        let (durable, auto_delete) = (take("durable"), take("auto_delete"));
        let options = QueueDeclareOptions { durable, auto_delete, ..Default::default() };
        let channel = connection.create_channel().await?;
        let Err(error) = channel.queue_declare(short(queue), options, arguments.into()).await
        else {
            return Ok(None);
        };
        let said = refusal(&error, AMQPSoftError::PRECONDITIONFAILED).map(str::to_owned);
        said.map(Some).ok_or(error)
    }

    /// Takes over what the broker says of one argument; whether that was news.
    fn learn(&mut self, said: &str) -> bool {
        let Some((name, current)) = inequivalent(said) else { return false };
        let Ok(name) = ShortString::try_new(name) else { return false };
        match current {
            Some(value) => self.arguments.insert(name, value.clone()) != Some(value),
            None => self.arguments.remove(&name).is_some(),
        }
    }
}

/// Declares the queue again and again, each time with what was learned from the broker's refusal, until
/// it is declared as it is. `None` if there is no such queue.
pub(crate) async fn look_up(
    connection: &Connection,
    queue: &str,
) -> Result<Option<Found>, lapin::Error> {
    if !is_there(connection, queue).await? {
        return Ok(None);
    }
    let usual = [("durable", AMQPValue::Boolean(true)), ("x-queue-type", text("quorum"))];
    let arguments = usual.map(|(name, value)| (name.into(), value)).into();
    let mut found = Found { arguments, not_understood: None };
    for _ in 0..MOST {
        let Some(said) = found.difference(connection, queue).await? else { break };
        if !found.learn(&said) {
            found.not_understood = Some(said);
            break;
        }
    }
    Ok(Some(found))
}

/// Reads `… inequivalent arg 'NAME' for queue … : received … but current is …`: the name, and what it
/// really is. The last part is `none`, `'VALUE'` or `the value 'VALUE' of type 'TYPE'`; the whole is cut off
/// where a name is very long.
fn inequivalent(said: &str) -> Option<(&str, Option<AMQPValue>)> {
    let (_, rest) = said.split_once("inequivalent arg '")?;
    let (name, rest) = rest.split_once('\'')?;
    let (_, current) = rest.rsplit_once("but current is ")?;
    if current == "none" {
        return Some((name, None));
    }
    let typed = current.strip_prefix("the value ").and_then(|typed| typed.rsplit_once(" of type "));
    let (value, kind) = typed.unwrap_or((current, ""));
    let value = value.strip_prefix('\'')?.strip_suffix('\'')?;
    let value = match kind {
        "'longstr'" => text(value),
        "'bool'" | "" => value.parse().map_or(text(value), AMQPValue::Boolean),
        _ => value.parse().map_or(text(value), AMQPValue::LongLongInt),
    };
    Some((name, Some(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_brokers_refusals_are_understood() {
        let of = |what: &str| format!("PRECONDITION_FAILED - inequivalent arg {what}");
        for (answer, expected) in [
            (
                of(
                    "'x-delivery-limit' for queue 'q' in vhost '/': received none but current is the \
                    value '5' of type 'signedint'",
                ),
                Some(("x-delivery-limit", Some(AMQPValue::LongLongInt(5)))),
            ),
            (
                of("'durable' for queue 'q' in vhost '/': received 'true' but current is 'false'"),
                Some(("durable", Some(AMQPValue::Boolean(false)))),
            ),
            (
                of(
                    "'x-queue-type' for queue 'q' in vhost '/': received 'quorum' but current is 'stream'",
                ),
                Some(("x-queue-type", Some(text("stream")))),
            ),
            (
                of(
                    "'x-dead-letter-routing-key' for queue 'q' in vhost '/': received none but current \
                    is the value 'it's' of type 'longstr'",
                ),
                Some(("x-dead-letter-routing-key", Some(text("it's")))),
            ),
            (
                of(
                    "'x-queue-type' for queue 'but current is' in vhost '/': received 'quorum' but \
                    current is none",
                ),
                Some(("x-queue-type", None)),
            ),
            (
                of(
                    "'x-delivery-limit' for queue 'q' in vhost '/': received none but current is the \
                    value '5' of ty...",
                ),
                None,
            ),
            ("ACCESS_REFUSED".to_owned(), None),
        ] {
            assert_eq!(inequivalent(&answer), expected, "{answer}");
        }
    }
}
