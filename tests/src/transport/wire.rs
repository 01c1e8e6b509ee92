//! What a test's publisher needs of an envelope.

use inbox::Envelope;

/// The message's id as text, where it has one.
pub fn id_text(envelope: &Envelope) -> Option<String> {
    let event = envelope.clone().with_source("any").to_cloud_event_json().ok()?;
    let json: serde_json::Value = serde_json::from_str(&event).ok()?;
    Some(json["id"].as_str()?.to_owned())
}

/// The attributes of a CloudEvent in binary mode, by their names without a transport's prefix.
pub fn attributes(envelope: &Envelope) -> Vec<(&'static str, String)> {
    let mut attributes = vec![("specversion", "1.0".to_owned())];
    attributes.push(("type", envelope.event_type().to_owned()));
    attributes.extend(id_text(envelope).map(|id| ("id", id)));
    attributes.extend(envelope.ordering_key().map(|key| ("partitionkey", key.to_owned())));
    attributes
}
