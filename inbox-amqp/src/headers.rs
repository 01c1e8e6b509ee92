//! The headers that tell of a message's deliveries, and those of dead letters.

use inbox::DeadLetter;
use lapin::BasicProperties;
use lapin::message::Delivery;
use lapin::types::{AMQPValue, FieldTable};

use crate::topology::text;

/// Counts the deliveries before a message was published to a retry queue. The broker's own counts do not
/// survive that: `x-delivery-count` begins anew, and `x-death` is continued by RabbitMQ 3 and ignored by
/// RabbitMQ 4.
const DELIVERIES: &str = "inbox-deliveries";

/// Where the message was published at first, which a retry queue hides.
const EXCHANGE: &str = "inbox-exchange";
const ROUTING_KEY: &str = "inbox-routing-key";

/// Written for one stay in one queue. Published once more, they would lie: a quorum queue leaves an old
/// `x-delivery-count` as it is until it counts itself, and an old `x-death` that names the queue makes the
/// broker see a cycle and drop the message when its retry is due. `CC` and `BCC` would send the retry to
/// other queues too.
const NOT_REPEATED: [&str; 6] =
    ["x-delivery-count", "x-acquired-count", "x-death", "CC", "BCC", DELIVERIES];

/// The longest error text that goes into a header: all headers together must fit into one frame.
const LONGEST_ERROR: usize = 4096;

/// All headers of a message.
pub(crate) fn all(message: &Delivery) -> impl Iterator<Item = (&str, &AMQPValue)> {
    let headers = message.properties.headers().iter().flatten();
    headers.map(|(name, value)| (name.as_str(), value))
}

/// Whether a header tells of the delivery and not of the message.
pub(crate) fn is_of_the_delivery(name: &str) -> bool {
    NOT_REPEATED.contains(&name) || [EXCHANGE, ROUTING_KEY].contains(&name)
}

/// Which delivery this is: what went before its last publication, by our own header or, where other
/// queues with a time to live lead here, by the broker's; and the broker's count since. A classic queue
/// keeps no count, only whether there was one.
pub(crate) fn delivery_number(message: &Delivery) -> u32 {
    let value = |name| all(message).find(|header| header.0 == name).map(|header| header.1);
    let counted = |name| value(name).map_or(0, count);
    let deaths = value("x-death").and_then(AMQPValue::as_array).into_iter();
    let deaths = deaths.flat_map(|deaths| deaths.as_slice()).filter_map(AMQPValue::as_field_table);
    let deaths = deaths.map(|death| death.inner().get("count").map_or(1, count));
    let before = counted(DELIVERIES).max(deaths.fold(0, u32::saturating_add));
    let since = counted("x-delivery-count").max(u32::from(message.redelivered));
    before.saturating_add(since).saturating_add(1)
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
pub(crate) fn of_retry(message: &Delivery) -> BasicProperties {
    let deliveries = AMQPValue::LongLongInt(delivery_number(message).into());
    published_again(message, [(DELIVERIES, deliveries)])
}

/// The same of a dead letter, with the reason.
pub(crate) fn of_letter(message: &Delivery, letter: &DeadLetter) -> BasicProperties {
    let error = &letter.error[..letter.error.floor_char_boundary(LONGEST_ERROR)];
    let own = [
        ("inbox-reason", text(letter.reason.as_str())),
        ("inbox-error", text(error)),
        ("inbox-consumer", text(&letter.consumer)),
        ("inbox-attempts", AMQPValue::LongLongInt(letter.attempts.into())),
    ];
    published_again(message, own)
}

/// Persistent; without an expiration, which would drop a message that is only waiting; and without the
/// producer's user, whom the broker lets nobody else name.
fn published_again<const N: usize>(
    message: &Delivery,
    own: [(&str, AMQPValue); N],
) -> BasicProperties {
    let mut headers = FieldTable::default();
    headers.insert(EXCHANGE.into(), text(message.exchange.as_str()));
    headers.insert(ROUTING_KEY.into(), text(message.routing_key.as_str()));
    // A first retry's note of the origin stays.
    for (name, value) in all(message).filter(|(name, _)| !NOT_REPEATED.contains(name)) {
        headers.insert(name.into(), value.clone());
    }
    for (name, value) in own {
        headers.insert(name.into(), value);
    }
    let mut new = BasicProperties::default().with_headers(headers).with_delivery_mode(2);
    let old = &message.properties;
    new = with(new, old.content_type(), BasicProperties::with_content_type);
    new = with(new, old.content_encoding(), BasicProperties::with_content_encoding);
    new = with(new, old.priority(), BasicProperties::with_priority);
    new = with(new, old.correlation_id(), BasicProperties::with_correlation_id);
    new = with(new, old.reply_to(), BasicProperties::with_reply_to);
    new = with(new, old.message_id(), BasicProperties::with_message_id);
    new = with(new, old.timestamp(), BasicProperties::with_timestamp);
    new = with(new, old.kind(), BasicProperties::with_type);
    with(new, old.app_id(), BasicProperties::with_app_id)
}

fn with<T: Clone>(
    properties: BasicProperties,
    value: &Option<T>,
    set: fn(BasicProperties, T) -> BasicProperties,
) -> BasicProperties {
    match value {
        Some(value) => set(properties, value.clone()),
        None => properties,
    }
}
