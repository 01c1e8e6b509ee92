//! P5: messages that take the process along.

use inbox::RetryPolicy;

use super::bench::Line;
use super::broker::{Broker, Subscribed};
use crate::command::{End, envelope};
use crate::harness::Harness;

pub async fn p5_a_message_that_kills_the_process_is_put_away_and_those_beside_it_are_not<
    H: Harness,
    B: Broker,
>() {
    let line = Line::<H, B>::start().await;
    let killer = line.publish(End::Wait(Box::new(End::Ok))).await;
    let innocents = [envelope([]), envelope([]), envelope([])];
    for innocent in &innocents {
        line.broker.publish(innocent).await;
    }
    let limit = 2;
    let policy = RetryPolicy::default().attempts(limit);
    // One worker, so that the innocent ones wait behind the killer; they are fetched each time.
    let options = || Line::<H, B>::options().workers(1).batch(1).unsettled(10).retries(policy);
    // The first delivery pays nothing; then each begun try is counted.
    for _ in 0..=limit {
        let subscription = line.subscribe(options()).await;
        line.bench.probe.arrived().await;
        line.until("all are delivered", async || line.broker.delivered().await >= 1).await;
        subscription.kill().await;
    }
    let subscription = line.subscribe(options()).await;
    let [letter] = line.letters(1).await.try_into().unwrap();
    line.settled().await;
    line.stop(subscription).await;
    assert_eq!((letter.reason.as_str(), letter.attempts), ("never-answered", limit));
    assert_eq!(letter.payload, killer.payload());
    assert_eq!(line.starts_of(&killer), limit + 1);
    assert!(!line.bench.has_row(&killer).await);
    line.assert_each_once(&innocents).await;
}

pub async fn a_message_whose_consumer_died_is_delivered_again_and_applied_once<
    H: Harness,
    B: Broker,
>() {
    let line = Line::<H, B>::start().await;
    let message = line.publish(End::Wait(Box::new(End::Ok))).await;
    let subscription = line.subscribe(Line::<H, B>::options().batch(1)).await;
    line.bench.probe.arrived().await;
    subscription.kill().await;
    assert!(line.bench.effects_of(&message).await.is_empty());
    line.bench.probe.mend();
    let subscription = line.subscribe(Line::<H, B>::options().batch(1)).await;
    line.settled().await;
    line.stop(subscription).await;
    assert_eq!(line.starts_of(&message), 2);
    line.assert_each_once(&[message]).await;
}
