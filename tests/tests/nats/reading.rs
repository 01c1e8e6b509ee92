//! How a message is read into an envelope.

use async_nats::HeaderMap;
use conformance::transport::{Line, Subscribed, id_text};
use conformance::{COMMAND, End, envelope};
use inbox::Envelope;
use uuid::Uuid;

use crate::Nats;
use crate::store::Sqlite;

type Here = Line<Sqlite<true>, Nats>;

async fn settle(line: &Here) {
    let running = line.subscribe(Here::options()).await;
    line.settled().await;
    running.stop().await;
}

#[tokio::test]
async fn a_structured_cloud_event_is_read() {
    let line = Here::start().await;
    let message = envelope([End::Ok]).with_source("https://shop.example");
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/cloudevents+json; charset=utf-8");
    let event = message.to_cloud_event_json().unwrap();
    line.broker.send(headers, event.into_bytes()).await;
    settle(&line).await;
    line.assert_each_once(&[message]).await;
}

#[tokio::test]
async fn without_an_attribute_the_id_is_the_brokers_and_the_type_the_subject() {
    let line = Here::start().await;
    let payload = envelope([End::Ok]).payload().to_vec();
    let message = Envelope::new(Uuid::new_v4(), COMMAND, payload.clone());
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Msg-Id", id_text(&message).unwrap());
    line.broker.send(headers, payload).await;
    line.broker.create_consumer(false).await;
    let running = line.broker.subscription().event_type(|subject| {
        assert!(subject.ends_with(".messages"), "{subject}");
        COMMAND.to_owned()
    });
    let running = running.start(&line.bench.consumer()).await.unwrap();
    line.settled().await;
    running.stop().await;
    line.assert_each_once(&[message]).await;
    line.letters(0).await;
}

#[tokio::test]
async fn a_text_id_takes_the_subscriptions_source() {
    let line = Here::start().await;
    let payload = envelope([End::Ok]).payload().to_vec();
    for _ in 0..2 {
        let mut headers = HeaderMap::new();
        headers.insert("ce-id", "evt_17");
        headers.insert("ce-type", COMMAND);
        line.broker.send(headers, payload.clone()).await;
    }
    line.broker.create_consumer(false).await;
    let running = line.broker.subscription().source("shop");
    let running = running.start(&line.bench.consumer()).await.unwrap();
    line.settled().await;
    running.stop().await;
    assert_eq!(line.bench.probe.starts(), 1);
    line.letters(0).await;
}

#[tokio::test]
async fn a_batch_of_cloud_events_and_another_version_are_put_away_with_their_reason() {
    let line = Here::start().await;
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/cloudevents-batch+json");
    line.broker.send(headers, b"[]".to_vec()).await;
    let mut headers = HeaderMap::new();
    headers.insert("ce-specversion", "0.3");
    line.broker.send(headers, b"{}".to_vec()).await;
    let running = line.subscribe(Here::options()).await;
    let letters = line.letters(2).await;
    line.settled().await;
    line.stop(running).await;
    assert!(letters.iter().any(|letter| letter.error.contains("publish them one by one")));
    assert!(letters.iter().any(|letter| letter.error.contains("specversion")));
}
