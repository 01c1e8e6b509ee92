//! Dead letters at the broker.

use async_nats::HeaderMap;
use async_nats::jetstream::message::StreamMessage;
use conformance::transport::{Broker, Line, attributes};
use conformance::{COMMAND, End, envelope};

use crate::Nats;
use crate::store::Sqlite;

type Here = Line<Sqlite<true>, Nats>;

async fn last_letter(line: &Here) -> StreamMessage {
    let dead = line.broker.stream(&line.broker.dead()).await;
    dead.get_raw_message(dead.cached_info().state.last_sequence).await.unwrap()
}

#[tokio::test]
async fn a_letter_keeps_the_messages_headers_and_obeys_none_that_were_for_the_server() {
    let line = Here::start().await;
    line.publish(End::Permanent).await;
    let message = envelope([End::Permanent]);
    let mut headers = HeaderMap::new();
    for (name, value) in attributes(&message) {
        headers.insert(format!("ce-{name}"), value);
    }
    headers.insert("traceparent", "00-1");
    headers.insert("Nats-Msg-Id", "17");
    headers.insert("Nats-Expected-Stream", line.broker.name.as_str()); // the letter's is another
    line.broker.send(headers, message.payload().to_vec()).await;
    let running = line.subscribe(Here::options()).await;
    line.letters(2).await;
    line.settled().await;
    line.stop(running).await;
    let letter = last_letter(&line).await;
    for (name, value) in [
        ("traceparent", "00-1"),
        ("ce-type", COMMAND),
        ("Inbox-Nats-Msg-Id", "17"),
        ("Inbox-Nats-Expected-Stream", line.broker.name.as_str()),
    ] {
        assert_eq!(letter.headers.get(name).unwrap().as_str(), value);
    }
    assert!(letter.headers.get("Nats-Expected-Stream").is_none());
}

#[tokio::test]
async fn a_message_published_anew_that_fails_again_is_a_letter_of_its_own() {
    let line = Here::start().await;
    let message = line.publish(End::Permanent).await;
    let running = line.subscribe(Here::options()).await;
    line.letters(1).await;
    // As an operator would who has mended something, but not all.
    let dead = line.broker.stream(&line.broker.dead()).await;
    dead.purge().await.unwrap();
    line.broker.publish(&message).await;
    line.until("it was tried again", async || line.starts_of(&message) == 2).await;
    line.settled().await;
    line.stop(running).await;
    assert_eq!(last_letter(&line).await.payload.as_ref(), message.payload());
}
