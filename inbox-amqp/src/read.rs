//! From an AMQP message to an envelope.

use inbox::{Envelope, InvalidEnvelope};
use lapin::message::Delivery;
use lapin::types::{AMQPValue, ShortString};
use time::OffsetDateTime;

use crate::headers;

/// The envelope, and why the message could not be read into it. `source` is the one of messages that name
/// none.
pub(crate) fn read(
    message: &Delivery,
    source: Option<&str>,
) -> (Envelope, Option<InvalidEnvelope>) {
    let properties = &message.properties;
    let event_type = text(properties.kind()).unwrap_or_default();
    let mut plain = Envelope::new(text(properties.message_id()), event_type, message.data.clone());
    if let Some(content_type) = text(properties.content_type()) {
        plain = plain.with_content_type(content_type);
    }
    if let Some(id) = text(properties.correlation_id()) {
        plain = plain.with_correlation_id(id);
    }
    if let Some(at) = properties.timestamp().and_then(time_of) {
        plain = plain.with_occurred_at(at);
    }
    let (mut envelope, problem) = plain.read_cloud_event(application_headers(message), take);
    // The publishing application's id, where there is one, is as good a source as any.
    let source = text(properties.app_id()).or(source);
    if let (None, Some(source)) = (envelope.source(), source) {
        envelope = envelope.with_source(source);
    }
    (envelope.with_delivery_attempt(headers::delivery_number(message)), problem)
}

/// The CloudEvents binding for AMQP allows both prefixes.
fn take(envelope: &mut Envelope, name: &str, value: &str) -> Option<Result<(), InvalidEnvelope>> {
    let attribute = name.strip_prefix("cloudEvents:").or(name.strip_prefix("cloudEvents_"))?;
    Some(envelope.set_cloud_event_attribute(attribute, value))
}

/// Those that are text or can be written as such, without what the broker and this crate write for
/// themselves.
fn application_headers(message: &Delivery) -> impl Iterator<Item = (String, String)> {
    headers::all(message)
        .filter(|(name, _)| !headers::is_of_the_delivery(name))
        .filter_map(|(name, value)| Some((name.to_owned(), text_of(value)?)))
}

fn text_of(value: &AMQPValue) -> Option<String> {
    Some(match value {
        AMQPValue::LongString(text) => std::str::from_utf8(text.as_bytes()).ok()?.to_owned(),
        AMQPValue::ShortString(text) => text.as_str().to_owned(),
        AMQPValue::Boolean(value) => value.to_string(),
        AMQPValue::Timestamp(seconds) => seconds.to_string(),
        other => headers::number(other)?.to_string(),
    })
}

fn text(property: &Option<ShortString>) -> Option<&str> {
    property.as_ref().map(ShortString::as_str)
}

/// AMQP counts in seconds. A producer that writes milliseconds means some day in the year 57000, which is
/// no time at all.
fn time_of(seconds: u64) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp(i64::try_from(seconds).ok()?).ok()
}

#[cfg(test)]
mod tests;
