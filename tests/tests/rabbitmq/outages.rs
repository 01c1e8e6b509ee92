//! Brokers, channels, consumers and queues that go away.

use conformance::transport::{Broker, Line, Subscribed, id_text};
use conformance::{End, envelope};
use inbox::RetryPolicy;
use inbox_amqp::lapin::types::AMQPValue;
use test_servers::rabbitmq::RabbitMq;

use crate::store::Sqlite;
use crate::{Rabbit, in_headers, right, text};

type Here = Line<Sqlite<true>, Rabbit>;

/// On a broker that may be ended.
async fn on_a_broker_of_its_own(settings: &str) -> (RabbitMq, Here) {
    let server = RabbitMq::start_with(settings).await.unwrap();
    let rabbit = Rabbit::at(server.broker().clone()).await;
    (server, Here::on(rabbit).await)
}

#[tokio::test]
async fn a_broker_that_is_killed_while_a_handler_runs_is_waited_for() {
    let (mut server, line) = on_a_broker_of_its_own("").await;
    let message = line.publish(End::Wait(Box::new(End::Ok))).await;
    let running = line.subscribe(Here::options().batch(1)).await;
    line.bench.probe.arrived().await;
    server.kill9().await.unwrap();
    line.bench.probe.mend();
    line.bench.probe.open();
    let health = running.health();
    line.until("it is unhealthy", async || !health.now().connected).await;
    // The handler's work does not wait for the broker.
    line.until("it is committed", async || line.bench.has_row(&message).await).await;
    server.restart().await.unwrap();
    line.until("it is healthy", async || health.now().connected).await;
    let after = envelope([]);
    line.broker.publish(&after).await;
    line.settled().await;
    running.stop().await;
    assert_eq!(line.starts_of(&message), 1);
    line.assert_each_once(&[message, after]).await;
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_broker_that_is_away() {
    let (mut server, line) = on_a_broker_of_its_own("").await;
    let message = line.publish(End::Wait(Box::new(End::Ok))).await;
    let running = line.subscribe(Here::options().batch(1)).await;
    line.bench.probe.arrived().await;
    server.kill9().await.unwrap();
    let health = running.health();
    line.until("it is unhealthy", async || !health.now().connected).await;
    line.bench.probe.open();
    running.stop().await;
    line.assert_each_once(&[message]).await;
}

/// Its channel is gone, so it cannot be acknowledged, now or ever: it is put away once, delivered again, and
/// put away once more.
#[tokio::test]
async fn a_dead_letter_whose_message_cannot_be_acknowledged_is_not_put_away_again_and_again() {
    let (_server, line) = on_a_broker_of_its_own("consumer_timeout = 2000").await;
    let message = line.publish(End::Wait(Box::new(End::Permanent))).await;
    let running = line.subscribe(Here::options().batch(1)).await;
    line.bench.probe.arrived().await;
    let health = running.health();
    line.until("the broker has closed the channel", async || !health.now().connected).await;
    line.bench.probe.open();
    line.bench.probe.open(); // for its next delivery
    line.until("nothing is held here", async || health.now().unsettled == 0).await;
    line.settled().await;
    running.stop().await;
    let letters = line.letters(2).await;
    assert!(letters.iter().all(|letter| letter.payload == message.payload()));
}

#[tokio::test]
async fn a_message_that_takes_longer_than_the_broker_waits_is_applied_once() {
    let (_server, line) = on_a_broker_of_its_own("consumer_timeout = 2000").await;
    let message = line.publish(End::Wait(Box::new(End::Ok))).await;
    let running = line.subscribe(Here::options().batch(1)).await;
    line.bench.probe.arrived().await;
    let health = running.health();
    line.until("the broker has closed the channel", async || !health.now().connected).await;
    line.bench.probe.mend();
    line.bench.probe.open();
    line.settled().await;
    running.stop().await;
    line.assert_each_once(&[message]).await;
}

#[tokio::test]
async fn a_queue_that_was_deleted_is_told_and_consumed_again_when_it_is_back() {
    let line = Here::start().await;
    let running = line.subscribe(Here::options()).await;
    let health = running.health();
    line.until("it is healthy", async || health.now().connected).await;
    line.broker.delete(&line.broker.queue).await;
    line.until("it is unhealthy", async || !health.now().connected).await;
    line.broker.declare(&line.broker.queue, &right(false)).await;
    let message = line.publish(End::Ok).await;
    line.settled().await;
    running.stop().await;
    line.assert_each_once(&[message]).await;
}

#[tokio::test]
async fn what_was_delivered_ahead_is_finished_by_a_stop() {
    let line = Here::start().await;
    for _ in 0..20 {
        line.publish(End::Wait(Box::new(End::Ok))).await;
    }
    let running = line.subscribe(Here::options().workers(1).batch(1).unsettled(8)).await;
    line.bench.probe.arrived().await;
    line.until("it has been delivered ahead", async || line.broker.delivered().await == 8).await;
    line.bench.probe.mend();
    let open = async { line.bench.probe.open() };
    tokio::join!(running.stop(), open);
    assert_eq!(line.bench.probe.starts(), 8);
    assert_eq!(line.broker.count().await, (12, 0));
}

#[tokio::test]
async fn a_dead_letter_that_cannot_be_put_away_is_kept_and_not_run_again() {
    let line = Here::start().await;
    let dead = format!("{}.dead", line.broker.queue);
    let running = line.subscribe(Here::options()).await;
    line.broker.delete(&dead).await;
    let message = line.publish(End::Permanent).await;
    line.until("it was tried", async || line.starts_of(&message) == 1).await;
    assert_eq!(line.broker.unsettled().await, 1);
    line.broker.declare(&dead, &right(false)).await;
    line.settled().await;
    line.letters(1).await;
    running.stop().await;
    assert_eq!(line.starts_of(&message), 1);
}

#[tokio::test]
async fn a_retry_queue_that_somebody_declared_otherwise_is_done_without() {
    let line = Here::start().await;
    let retries = format!("{}.retry.1s", line.broker.queue);
    line.broker.declare(&retries, &[("x-queue-type", text("classic"))]).await;
    let running = line.subscribe(Here::options()).await;
    let message = line.publish(End::Error).await;
    line.until("it was given back", async || line.starts_of(&message) == 2).await;
    line.broker.delete(&retries).await;
    line.until("the queue is declared", async || line.broker.is_there(&retries).await).await;
    line.bench.probe.mend();
    line.settled().await;
    running.stop().await;
    line.assert_each_once(&[message]).await;
}

#[tokio::test]
async fn a_retry_queue_that_somebody_deleted_is_declared_again() {
    let line = Here::start().await;
    let retries = format!("{}.retry.1s", line.broker.queue);
    let running = line.subscribe(Here::options()).await;
    let first = line.publish(End::Error).await;
    line.until("it was tried again", async || line.starts_of(&first) == 2).await;
    line.bench.probe.mend_message(&id_text(&first).unwrap());
    line.settled().await;
    line.broker.delete(&retries).await;
    let second = line.publish(End::Error).await;
    line.until("the queue is declared", async || line.broker.is_there(&retries).await).await;
    line.bench.probe.mend();
    line.settled().await;
    running.stop().await;
    line.assert_each_once(&[first, second]).await;
}

#[tokio::test]
async fn a_classic_queue_tells_that_a_message_was_delivered_before() {
    let line = Here::start().await;
    line.broker.begin(&[]).await;
    let killer = line.publish(End::Wait(Box::new(End::Ok))).await;
    let retries = RetryPolicy::default().attempts(2);
    let options = || Here::options().batch(1).retries(retries);
    for _ in 0..=2 {
        let running = line.subscribe(options()).await;
        line.bench.probe.arrived().await;
        running.kill().await;
    }
    let running = line.subscribe(options()).await;
    let [letter] = line.letters(1).await.try_into().unwrap();
    line.settled().await;
    running.stop().await;
    assert_eq!((letter.reason.as_str(), letter.attempts), ("never-answered", 2));
    assert_eq!(line.starts_of(&killer), 3);
}

#[tokio::test]
async fn other_queues_with_a_time_to_live_may_lead_to_ours() {
    let line = Here::start().await;
    line.broker.begin(&right(false)).await;
    let delay = format!("{}.delay", line.broker.queue);
    let arguments = [
        ("x-message-ttl", AMQPValue::LongInt(10)),
        ("x-dead-letter-exchange", text("")),
        ("x-dead-letter-routing-key", text(&line.broker.queue)),
    ];
    line.broker.declare(&delay, &arguments).await;
    let message = envelope([End::Error]);
    line.broker.send_to(&delay, in_headers(&message), message.payload()).await;
    let running = line.subscribe(Here::options()).await;
    line.until("it was tried twice", async || line.starts_of(&message) == 2).await;
    line.bench.probe.mend();
    line.settled().await;
    running.stop().await;
    line.assert_each_once(&[message]).await;
}
