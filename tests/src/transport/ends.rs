//! How a subscription ends.

use super::bench::Line;
use super::broker::{Broker, Subscribed};
use crate::command::End;
use crate::harness::Harness;

/// For stores in which one message waits for no other.
pub async fn a_graceful_stop_makes_no_redelivery<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let mut messages = Vec::new();
    for _ in 0..20 {
        messages.push(line.publish(End::Wait(Box::new(End::Ok))).await);
    }
    let options = || Line::<H, B>::options().workers(1).batch(1).unsettled(8);
    let subscription = line.subscribe(options()).await;
    line.bench.probe.arrived().await;
    line.bench.probe.mend();
    let stop = line.stop(subscription);
    let open = async {
        // Those after it are mended.
        line.bench.probe.open();
    };
    tokio::join!(stop, open);
    let done = line.bench.probe.starts();
    assert!(done >= 1, "what was fetched was finished");
    let left = line.broker.unsettled().await;
    assert_eq!(left + done as usize, messages.len());
    let subscription = line.subscribe(options()).await;
    line.settled().await;
    line.stop(subscription).await;
    let claims = line.bench.plan.calls().iter().filter(|call| **call == "claim").count();
    assert_eq!(claims, messages.len(), "something was delivered again");
    line.assert_each_once(&messages).await;
}

pub async fn the_stop_of_the_inbox_ends_its_subscriptions_and_waits_for_them<
    H: Harness,
    B: Broker,
>() {
    let line = Line::<H, B>::start().await;
    let message = line.publish(End::Wait(Box::new(End::Ok))).await;
    let subscription = line.subscribe(Line::<H, B>::options().batch(1)).await;
    line.bench.probe.arrived().await;
    let stop = line.bench.inbox.stop_handle();
    let stopped = async {
        stop.stop().await;
        assert_eq!(line.broker.unsettled().await, 0, "told done before it was settled");
    };
    let open = async {
        stop.stopping().await;
        line.bench.probe.open();
    };
    tokio::join!(stopped, open);
    subscription.stop().await;
    assert_eq!(line.starts_of(&message), 1);
    assert!(line.bench.has_row(&message).await);
}

pub async fn health_tells_of_connection_and_progress<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let subscription = line.subscribe(Line::<H, B>::options()).await;
    let health = subscription.health();
    line.until("it is connected", async || health.now().connected).await;
    assert!(health.now().since_last_settled.is_none());
    line.publish(End::Ok).await;
    line.settled().await;
    line.until("the progress is told", async || health.now().since_last_settled.is_some()).await;
    line.stop(subscription).await;
    assert!(!health.now().connected);
}
