//! The headers that tell of a message's deliveries, and those of dead letters.

use std::collections::BTreeMap;

use inbox::DeadLetter;
use lapin::BasicProperties;
use lapin::message::Delivery;
use lapin::types::{AMQPValue, FieldTable, ShortString};

type Headers = BTreeMap<ShortString, AMQPValue>;

/// Counts the deliveries before a message was published to a retry queue. The broker's own counts do not
/// survive that: `x-delivery-count` begins anew, and `x-death` is continued by RabbitMQ 3 and ignored by
/// RabbitMQ 4.
const DELIVERIES: &str = "inbox-deliveries";

/// Where the message was published at first, which a retry queue hides.
const EXCHANGE: &str = "inbox-exchange";
const ROUTING_KEY: &str = "inbox-routing-key";

/// Written by the broker for one stay in one queue. Published once more, they would lie: a quorum queue
/// leaves an old `x-delivery-count` as it is until it counts itself, and an old `x-death` that names the
/// queue makes the broker see a cycle and drop the message when its retry is due. `CC` and `BCC` would
/// send the retry to other queues too.
const NOT_REPEATED: [&str; 5] = ["x-delivery-count", "x-acquired-count", "x-death", "CC", "BCC"];

/// The longest error text that goes into a header: all headers together must fit into one frame.
const LONGEST_ERROR: usize = 4096;

/// Whether a header tells of the delivery and not of the message.
pub(crate) fn is_of_the_delivery(name: &str) -> bool {
    NOT_REPEATED.contains(&name) || [DELIVERIES, EXCHANGE, ROUTING_KEY].contains(&name)
}

/// The deliveries before the message was published to a retry queue.
pub(crate) fn deliveries(message: &Delivery) -> u32 {
    header(message, DELIVERIES).map_or(0, count)
}

/// The redeliveries that the queue has counted.
pub(crate) fn redeliveries(message: &Delivery) -> u32 {
    header(message, "x-delivery-count").map_or(0, count)
}

/// How often the message has left a queue by another way than to a consumer.
pub(crate) fn deaths(message: &Delivery) -> u32 {
    let Some(AMQPValue::FieldArray(deaths)) = header(message, "x-death") else { return 0 };
    let counted = deaths.as_slice().iter().map(|death| match death {
        AMQPValue::FieldTable(death) => death.inner().get("count").map_or(1, count),
        _ => 0,
    });
    counted.fold(0, u32::saturating_add)
}

fn header<'a>(message: &'a Delivery, name: &str) -> Option<&'a AMQPValue> {
    message.properties.headers().as_ref()?.inner().get(name)
}

fn count(value: &AMQPValue) -> u32 {
    number(value).map_or(0, |number| number.clamp(0, i64::from(u32::MAX)) as u32)
}

/// Any of AMQP's whole numbers.
pub(crate) fn number(value: &AMQPValue) -> Option<i64> {
    match *value {
        AMQPValue::ShortShortInt(number) => Some(number.into()),
        AMQPValue::ShortShortUInt(number) => Some(number.into()),
        AMQPValue::ShortInt(number) => Some(number.into()),
        AMQPValue::ShortUInt(number) => Some(number.into()),
        AMQPValue::LongInt(number) => Some(number.into()),
        AMQPValue::LongUInt(number) => Some(number.into()),
        AMQPValue::LongLongInt(number) => Some(number),
        _ => None,
    }
}

/// The properties of a message that goes to a retry queue: all that it had.
pub(crate) fn of_retry(message: &Delivery, deliveries: u32) -> BasicProperties {
    let mut headers = repeated(message);
    headers.insert(DELIVERIES.into(), AMQPValue::LongLongInt(deliveries.into()));
    published_with(message, headers)
}

/// The same of a dead letter, with the reason.
pub(crate) fn of_letter(message: &Delivery, letter: &DeadLetter) -> BasicProperties {
    let mut headers = repeated(message);
    for (name, value) in [
        ("inbox-reason", letter.reason.as_str()),
        ("inbox-error", shortened(&letter.error)),
        ("inbox-consumer", letter.consumer.as_str()),
    ] {
        headers.insert(name.into(), text(value));
    }
    let attempts = AMQPValue::LongLongInt(letter.attempts.into());
    headers.insert("inbox-attempts".into(), attempts);
    published_with(message, headers)
}

fn repeated(message: &Delivery) -> Headers {
    let mut headers = Headers::new();
    headers.insert(EXCHANGE.into(), text(message.exchange.as_str()));
    headers.insert(ROUTING_KEY.into(), text(message.routing_key.as_str()));
    let all = message.properties.headers().iter().flat_map(|headers| headers.inner());
    for (name, value) in all {
        if !NOT_REPEATED.contains(&name.as_str()) && name.as_str() != DELIVERIES {
            headers.insert(name.clone(), value.clone()); // a first retry's note of the origin stays
        }
    }
    headers
}

/// Persistent; without an expiration, which would drop a message that is only waiting; and without the
/// producer's user, whom the broker lets nobody else name.
fn published_with(message: &Delivery, headers: Headers) -> BasicProperties {
    let old = &message.properties;
    let mut new =
        BasicProperties::default().with_headers(FieldTable::from(headers)).with_delivery_mode(2);
    type Set = fn(BasicProperties, ShortString) -> BasicProperties;
    let texts: [(&Option<ShortString>, Set); 7] = [
        (old.content_type(), BasicProperties::with_content_type),
        (old.content_encoding(), BasicProperties::with_content_encoding),
        (old.correlation_id(), BasicProperties::with_correlation_id),
        (old.reply_to(), BasicProperties::with_reply_to),
        (old.message_id(), BasicProperties::with_message_id),
        (old.kind(), BasicProperties::with_type),
        (old.app_id(), BasicProperties::with_app_id),
    ];
    for (value, set) in texts {
        if let Some(value) = value {
            new = set(new, value.clone());
        }
    }
    if let Some(priority) = *old.priority() {
        new = new.with_priority(priority);
    }
    if let Some(timestamp) = *old.timestamp() {
        new = new.with_timestamp(timestamp);
    }
    new
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}

fn shortened(text: &str) -> &str {
    let mut end = text.len().min(LONGEST_ERROR);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
