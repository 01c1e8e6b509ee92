//! Several processes behind one RabbitMQ and one PostgreSQL: all the while consumers are killed, and the
//! broker and the database restart.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, and prints its counts"
)]

mod chaos;
mod place;
mod publisher;
#[path = "../subscribers/mod.rs"]
mod subscribers;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use battery::{CONSUMERS, Form, through_a_pooler};
use chaos::Chaos;
use place::Place;
use publisher::Publisher;
use subscribers::Published;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_and_consumers_that_are_killed_all_the_while_apply_each_message_once() {
    if through_a_pooler() {
        return; // a server of its own, without one
    }
    let form = Form::chosen();
    let place = Place::start().await;
    let publisher = Publisher::to(place.rabbitmq.broker().url());
    publisher.declare().await.unwrap();
    let published = Arc::new(Published::new(form.times(2_000, 60_000)));
    let broker = place.rabbitmq.broker().clone();
    let publishing = subscribers::publish(
        published.clone(),
        async |one| publisher.is_confirmed(one).await,
        async || place::unsettled(&broker).await,
    );
    let mut chaos = Chaos::new(place, published.clone());
    let killing = async {
        while chaos.rounds() < form.times(8, 120) || !published.is_enough() {
            chaos.round().await;
        }
        published.end.store(true, Ordering::SeqCst);
    };
    let (messages, ()) = tokio::join!(publishing, killing);
    let tally = chaos.settle().await;

    let stage = &chaos.place.stage;
    stage.books.publish(&messages).await.unwrap();
    let proof = stage.books.proof_of(&CONSUMERS[..1]).await.unwrap();
    let dead = place::dead_letters(&broker).await;
    println!("{} publishes; {tally:?}; {dead} dead letters\n{proof}", messages.len());
    assert!(proof.is_exact(), "{proof}");
    assert_eq!(dead, 0, "something innocent was put away");
    assert!(proof.messages() < messages.len() as i64, "duplicates were published");
    assert!(tally.kills > 0 && tally.brokers > 0 && tally.databases >= 2, "{tally:?}");
    assert!(tally.redeliveries > 0, "something was delivered again: {tally:?}");
}
