//! Servers and consumers that go away.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use conformance::transport::{Broker, Line, Subscribed};
use conformance::{End, envelope};
use inbox::DeadLettersTo;

use crate::Nats;
use crate::store::Sqlite;

type Here = Line<Sqlite<true>, Nats>;

#[tokio::test]
async fn a_server_that_is_killed_while_a_handler_runs_is_waited_for() {
    let mut line = Here::start().await;
    if line.broker.server.is_none() {
        return; // somebody else's server
    }
    let message = line.publish(End::Wait(Box::new(End::Ok))).await;
    let running = line.subscribe(Here::options().batch(1)).await;
    line.bench.probe.arrived().await;
    let server = line.broker.server.as_mut().unwrap();
    server.kill9().await.unwrap();
    line.bench.probe.open();
    let health = running.health();
    line.until("it is unhealthy", async || !health.now().connected).await;
    // The handler's work does not wait for the broker.
    line.until("it is committed", async || line.bench.has_row(&message).await).await;
    line.broker.server.as_mut().unwrap().restart().await.unwrap();
    line.until("it is healthy", async || health.now().connected).await;
    let after = envelope([]);
    line.broker.publish(&after).await;
    line.settled().await;
    running.stop().await;
    assert_eq!(line.starts_of(&message), 1);
    line.assert_each_once(&[message, after]).await;
}

#[tokio::test]
async fn a_consumer_that_was_deleted_is_told_and_resumed_when_it_is_back() {
    let line = Here::start().await;
    let running = line.subscribe(Here::options()).await;
    let health = running.health();
    line.until("it is healthy", async || health.now().connected).await;
    line.broker.stream(&line.broker.name).await.delete_consumer("suite").await.unwrap();
    line.until("it is unhealthy", async || !health.now().connected).await;
    let message = line.publish(End::Ok).await;
    line.broker.create_consumer(false).await;
    line.settled().await;
    running.stop().await;
    line.assert_each_once(&[message]).await;
}

#[tokio::test]
async fn a_dead_letter_that_cannot_be_put_away_is_kept_and_not_run_again() {
    let line = Here::start().await;
    line.broker.jetstream.delete_stream(line.broker.dead()).await.unwrap();
    let message = line.publish(End::Permanent).await;
    line.broker.create_consumer(false).await;
    // The stream is looked for at the start, so it goes away afterwards.
    line.broker.create_dead_letters().await;
    let running = line.broker.subscription().options(Here::options());
    let running = running.start(&line.bench.consumer()).await.unwrap();
    line.letters(1).await;
    line.broker.jetstream.delete_stream(line.broker.dead()).await.unwrap();
    let second = line.publish(End::Permanent).await;
    line.until("it was tried", async || line.starts_of(&second) == 1).await;
    line.broker.create_dead_letters().await;
    line.settled().await;
    line.letters(1).await; // the first one went with its stream
    running.stop().await;
    assert_eq!((line.starts_of(&message), line.starts_of(&second)), (1, 1));
}

#[tokio::test]
async fn a_dead_letter_that_was_put_away_twice_is_one() {
    let line = Here::start().await;
    let message = line.publish(End::Permanent).await;
    line.broker.publish(&message).await;
    let options = Here::options().dead_letters(DeadLettersTo::Store);
    let running = line.subscribe(options).await;
    line.settled().await;
    running.stop().await;
    assert_eq!(line.stored_letters().await.len(), 1);
}

#[tokio::test]
async fn a_lost_connection_is_told_while_there_is_no_room_to_fetch_either() {
    let mut line = Here::start().await;
    if line.broker.server.is_none() {
        return; // somebody else's server
    }
    let message = line.publish(End::Wait(Box::new(End::Ok))).await;
    let running = line.subscribe(Here::options().batch(1).unsettled(1)).await;
    let health = running.health();
    line.bench.probe.arrived().await;
    line.until("it is healthy", async || health.now().connected).await;
    line.broker.server.as_mut().unwrap().kill9().await.unwrap();
    line.until("it is unhealthy", async || !health.now().connected).await;
    line.broker.server.as_mut().unwrap().restart().await.unwrap();
    line.until("it is healthy again", async || health.now().connected).await;
    line.bench.probe.open();
    line.settled().await;
    running.stop().await;
    assert_eq!(line.starts_of(&message), 1);
    line.assert_each_once(&[message]).await;
}

#[tokio::test]
async fn a_consumer_that_grants_little_at_a_time_is_asked_for_little() {
    let line = Here::start().await;
    let config = pull::Config {
        durable_name: Some("suite".to_owned()),
        ack_policy: AckPolicy::Explicit,
        max_batch: 2,
        max_expires: Duration::from_millis(200),
        ..pull::Config::default()
    };
    line.broker.stream(&line.broker.name).await.create_consumer(config).await.unwrap();
    let mut messages = Vec::new();
    for _ in 0..7 {
        messages.push(line.publish(End::Ok).await);
    }
    let running = line.broker.subscription().options(Here::options());
    let running = running.start(&line.bench.consumer()).await.unwrap();
    line.settled().await;
    running.stop().await;
    line.assert_each_once(&messages).await;
}

#[tokio::test]
async fn acknowledgements_that_nobody_confirms_are_acknowledgements_too() {
    let line = Here::start().await;
    let message = line.publish(End::Ok).await;
    line.broker.create_consumer(false).await;
    let running = line.broker.subscription().options(Here::options()).without_confirmed_acks();
    let running = running.start(&line.bench.consumer()).await.unwrap();
    line.until("it was tried", async || line.starts_of(&message) == 1).await;
    running.stop().await;
    line.settled().await;
    assert_eq!(line.broker.delivered().await, 0);
    line.assert_each_once(&[message]).await;
}
