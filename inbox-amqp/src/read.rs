//! From an AMQP message to an envelope.

use inbox::{CloudEventMode, Envelope, InvalidEnvelope};
use lapin::message::Delivery;
use lapin::types::{AMQPValue, ShortString};
use time::OffsetDateTime;

use crate::headers;

/// What the application said of messages that do not say it themselves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) source: Option<String>,
}

impl Reading {
    /// The envelope, and why the message could not be read into it.
    pub(crate) fn read(&self, message: &Delivery) -> (Envelope, Option<InvalidEnvelope>) {
        let content_type = text(message.properties.content_type());
        let (mut envelope, problem) = match CloudEventMode::of(content_type) {
            CloudEventMode::Structured => structured(message),
            CloudEventMode::Batch => (unread(message), Some(CloudEventMode::batch_refused())),
            CloudEventMode::Binary => binary(message, content_type),
        };
        // The publishing application's id, where there is one, is as good a source as any.
        let app_id = text(message.properties.app_id()).map(str::to_owned);
        if let (None, Some(source)) = (envelope.source(), app_id.or_else(|| self.source.clone())) {
            envelope = envelope.with_source(source);
        }
        (envelope.with_delivery_attempt(delivery_number(message)), problem)
    }
}

/// Attributes in headers, or none of CloudEvents at all.
fn binary(message: &Delivery, content_type: Option<&str>) -> (Envelope, Option<InvalidEnvelope>) {
    let properties = &message.properties;
    let event_type = text(properties.kind()).unwrap_or_default();
    let mut envelope =
        Envelope::new(text(properties.message_id()), event_type, message.data.clone());
    if let Some(content_type) = content_type {
        envelope = envelope.with_content_type(content_type);
    }
    if let Some(id) = text(properties.correlation_id()) {
        envelope = envelope.with_correlation_id(id);
    }
    if let Some(at) = properties.timestamp().and_then(time_of) {
        envelope = envelope.with_occurred_at(at);
    }
    let mut problem = None;
    for (name, value) in application_headers(message) {
        match attribute_of(name) {
            Some(attribute) => {
                let set = envelope.set_cloud_event_attribute(attribute, &value);
                problem = problem.or(set.err());
            }
            None => envelope = envelope.with_header(name, value),
        }
    }
    (envelope, problem)
}

fn structured(message: &Delivery) -> (Envelope, Option<InvalidEnvelope>) {
    match Envelope::from_cloud_event_json(&message.data) {
        Ok(envelope) => (with_headers(envelope, message), None),
        Err(problem) => (unread(message), Some(problem)),
    }
}

/// A message of which only the payload and the headers are known.
fn unread(message: &Delivery) -> Envelope {
    with_headers(Envelope::new(None::<&str>, "", message.data.clone()), message)
}

fn with_headers(envelope: Envelope, message: &Delivery) -> Envelope {
    application_headers(message)
        .fold(envelope, |envelope, (name, value)| envelope.with_header(name, value))
}

/// The CloudEvents binding for AMQP allows both.
fn attribute_of(header: &str) -> Option<&str> {
    header.strip_prefix("cloudEvents:").or_else(|| header.strip_prefix("cloudEvents_"))
}

/// Those that are text or can be written as such, without what the broker and this crate write for
/// themselves.
fn application_headers(message: &Delivery) -> impl Iterator<Item = (&str, String)> {
    let all = message.properties.headers().iter().flat_map(|headers| headers.inner());
    all.filter(|(name, _)| !headers::is_of_the_delivery(name.as_str()))
        .filter_map(|(name, value)| Some((name.as_str(), text_of(value)?)))
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

/// Which delivery this is: what went before its last publication, by our own header or, where other
/// queues with a time to live lead here, by the broker's; and the broker's count since. A classic queue
/// keeps no count, only whether there was one.
pub(crate) fn delivery_number(message: &Delivery) -> u32 {
    let before = headers::deliveries(message).max(headers::deaths(message));
    let since = headers::redeliveries(message).max(u32::from(message.redelivered));
    before.saturating_add(since).saturating_add(1)
}

#[cfg(test)]
mod tests;
