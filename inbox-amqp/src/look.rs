//! What a queue was declared with, as far as AMQP tells: not at all, unless one declares it differently.

use std::collections::BTreeMap;

use lapin::options::QueueDeclareOptions;
use lapin::protocol::AMQPSoftError;
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{Connection, ErrorKind};

use crate::headers::number;
use crate::topology::{is_soft, is_there, short, text};

/// More arguments than any queue has.
const MOST: usize = 40;

/// A queue that is there.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) durable: bool,
    pub(crate) auto_delete: bool,
    arguments: BTreeMap<ShortString, AMQPValue>,
    /// The broker's answer that could not be understood, so that there may be more arguments.
    pub(crate) not_understood: Option<String>,
}

impl Found {
    /// What such queues mostly are.
    fn guess() -> Self {
        let arguments = BTreeMap::from([("x-queue-type".into(), text("quorum"))]);
        Self { durable: true, auto_delete: false, arguments, not_understood: None }
    }

    pub(crate) fn has(&self, argument: &str) -> bool {
        self.arguments.contains_key(argument)
    }

    pub(crate) fn text(&self, argument: &str) -> Option<String> {
        match self.arguments.get(argument)? {
            AMQPValue::LongString(text) => Some(text.to_string()),
            _ => None,
        }
    }

    pub(crate) fn number(&self, argument: &str) -> Option<i64> {
        self.arguments.get(argument).and_then(number)
    }

    pub(crate) fn is_set(&self, argument: &str) -> bool {
        self.arguments.get(argument) == Some(&AMQPValue::Boolean(true))
    }

    /// Takes over what the broker says of one argument; whether that could be understood.
    fn learn(&mut self, answer: &str) -> bool {
        let Some((name, current)) = inequivalent(answer) else { return false };
        match (name, current) {
            ("durable", Current::Plain(value)) => self.durable = value == "true",
            ("auto_delete", Current::Plain(value)) => self.auto_delete = value == "true",
            (argument, current) => {
                let Ok(argument) = ShortString::try_new(argument) else { return false };
                match current.into_value() {
                    Some(value) => self.arguments.insert(argument, value),
                    None => self.arguments.remove(&argument),
                };
            }
        }
        true
    }
}

/// Declares the queue again and again, each time with what was learned from the broker's refusal, until
/// it is declared as it is: that changes nothing. `None` if there is no such queue.
pub(crate) async fn look_up(
    connection: &Connection,
    queue: &str,
) -> Result<Option<Found>, lapin::Error> {
    if !is_there(connection, queue).await? {
        return Ok(None);
    }
    let mut found = Found::guess();
    let mut last = String::new();
    for _ in 0..MOST {
        let channel = connection.create_channel().await?;
        let options = QueueDeclareOptions {
            durable: found.durable,
            auto_delete: found.auto_delete,
            ..Default::default()
        };
        let arguments = FieldTable::from(found.arguments.clone());
        let Err(error) = channel.queue_declare(short(queue), options, arguments).await else {
            return Ok(Some(found));
        };
        let answer = match error.kind() {
            ErrorKind::ProtocolError(protocol)
                if is_soft(&error, AMQPSoftError::PRECONDITIONFAILED) =>
            {
                protocol.get_message().to_string()
            }
            _ => return Err(error),
        };
        let news = answer != last && found.learn(&answer);
        last.clone_from(&answer);
        if !news {
            found.not_understood = Some(answer);
            break;
        }
    }
    Ok(Some(found))
}

/// What an argument really is.
#[derive(Debug, PartialEq, Eq)]
enum Current<'a> {
    None,
    Plain(&'a str),
    Typed(&'a str, &'a str),
}

impl Current<'_> {
    fn into_value(self) -> Option<AMQPValue> {
        match self {
            Self::None => None,
            Self::Plain(value) => Some(text(value)),
            Self::Typed(value, "bool") => Some(AMQPValue::Boolean(value == "true")),
            Self::Typed(value, "longstr") => Some(text(value)),
            Self::Typed(value, kind) => Some(match (kind, value.parse::<i64>()) {
                ("signedint", Ok(number)) => {
                    i32::try_from(number).map_or(text(value), AMQPValue::LongInt)
                }
                (_, Ok(number)) => AMQPValue::LongLongInt(number),
                (_, Err(_)) => text(value),
            }),
        }
    }
}

/// Reads `… inequivalent arg 'NAME' for queue … : received … but current is …`. The last part is `none`,
/// `'VALUE'` or `the value 'VALUE' of type 'TYPE'`; the whole is cut off where a name is very long.
fn inequivalent(answer: &str) -> Option<(&str, Current<'_>)> {
    let (_, rest) = answer.split_once("inequivalent arg '")?;
    let (name, rest) = rest.split_once('\'')?;
    let (_, current) = rest.rsplit_once("but current is ")?;
    if current == "none" {
        return Some((name, Current::None));
    }
    if let Some(typed) = current.strip_prefix("the value '") {
        let (value, kind) = typed.strip_suffix('\'')?.rsplit_once("' of type '")?;
        return Some((name, Current::Typed(value, kind)));
    }
    let plain = current.strip_prefix('\'')?.strip_suffix('\'')?;
    Some((name, Current::Plain(plain)))
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
                Some(("x-delivery-limit", Current::Typed("5", "signedint"))),
            ),
            (
                of("'durable' for queue 'q' in vhost '/': received 'true' but current is 'false'"),
                Some(("durable", Current::Plain("false"))),
            ),
            (
                of(
                    "'x-queue-type' for queue 'but current is' in vhost '/': received 'quorum' but \
                    current is none",
                ),
                Some(("x-queue-type", Current::None)),
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
