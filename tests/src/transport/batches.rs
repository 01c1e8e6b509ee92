//! Many messages at once.

use super::bench::Line;
use super::broker::Broker;
use crate::command::{End, envelope};
use crate::harness::Harness;

pub async fn c1_of_a_crowd_with_duplicates_and_poison_each_is_settled_rightly<
    H: Harness,
    B: Broker,
>() {
    let line = Line::<H, B>::start().await;
    let mut messages = Vec::new();
    for i in 0..200 {
        let message = envelope([]);
        line.broker.publish(&message).await;
        if i % 5 == 0 {
            line.broker.publish(&message).await;
        }
        messages.push(message);
    }
    let poison = [line.publish(End::Permanent).await, line.publish(End::Permanent).await];
    let subscription = line.subscribe(Line::<H, B>::options()).await;
    let letters = line.letters(2).await;
    line.settled().await;
    line.stop(subscription).await;
    assert!(letters.iter().all(|letter| letter.reason == "permanent"));
    let batches = line.bench.plan.calls().iter().filter(|call| **call == "open").count();
    assert!(batches > 0, "nothing was committed together");
    line.assert_each_once(&messages).await;
    for message in &poison {
        assert!(!line.bench.has_row(message).await);
    }
}

pub async fn no_more_is_fetched_than_may_be_unsettled<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    for _ in 0..30 {
        line.publish(End::Wait(Box::new(End::Ok))).await;
    }
    let options = Line::<H, B>::options().workers(2).batch(1).unsettled(5);
    let subscription = line.subscribe(options).await;
    for _ in 0..30 {
        line.bench.probe.arrived().await;
        let delivered = line.broker.delivered().await;
        assert!((1..=5).contains(&delivered), "{delivered} are delivered and unsettled");
        line.bench.probe.open();
    }
    line.settled().await;
    line.stop(subscription).await;
}
