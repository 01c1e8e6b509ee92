//! A message on its way to the stream.

use battery::{Message, message};
use inbox_nats::async_nats::HeaderMap;
use inbox_nats::async_nats::jetstream::Context;

use crate::place::SUBJECT;

/// Whether the stream has confirmed it.
pub(crate) async fn is_confirmed(jetstream: &Context, one: Message) -> bool {
    let envelope = message(one);
    let mut headers = HeaderMap::new();
    headers.insert("ce-specversion", "1.0");
    headers.insert("ce-id", one.id.to_string());
    headers.insert("ce-type", envelope.event_type());
    let payload = envelope.payload().to_vec().into();
    match jetstream.publish_with_headers(SUBJECT, headers, payload).await {
        Ok(confirmation) => confirmation.await.is_ok(),
        Err(_) => false,
    }
}
