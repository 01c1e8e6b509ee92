//! What may overtake what.

use std::time::Duration;

use inbox::{DeliveryOrder, Envelope, RetryPolicy};

use super::bench::Line;
use super::broker::Broker;
use crate::bench::id_of;
use crate::command::{End, envelope};
use crate::harness::Harness;

fn ids(messages: &[Envelope]) -> Vec<String> {
    messages.iter().map(|message| id_of(message).to_string()).collect()
}

fn policy() -> RetryPolicy {
    RetryPolicy::default().waits(Duration::from_millis(50), Duration::from_millis(100))
}

pub async fn in_strict_order_nothing_overtakes_a_message_that_fails<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let mut messages = vec![envelope([]), envelope([End::Error])];
    messages.extend((0..8).map(|_| envelope([])));
    for message in &messages {
        line.broker.publish(message).await;
    }
    let options = Line::<H, B>::options().order(DeliveryOrder::Strict).retries(policy());
    let subscription = line.subscribe(options).await;
    line.until("it failed three times", async || line.starts_of(&messages[1]) >= 3).await;
    let mut seen = line.bench.probe.messages();
    seen.dedup();
    assert_eq!(seen, ids(&messages[..2]), "the failing one was overtaken");
    line.bench.probe.mend();
    line.settled().await;
    line.stop(subscription).await;
    let mut seen = line.bench.probe.messages();
    seen.dedup();
    assert_eq!(seen, ids(&messages));
    line.assert_each_once(&messages).await;
}

pub async fn messages_of_one_key_are_in_order_and_keys_side_by_side<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let of_key = |key: &str, end| envelope([end]).with_ordering_key(key);
    let stuck = [of_key("a", End::Error), of_key("a", End::Ok), of_key("a", End::Ok)];
    let free = [of_key("b", End::Ok), of_key("b", End::Ok), of_key("b", End::Ok), envelope([])];
    for message in [&stuck[0], &free[0], &stuck[1], &free[1], &free[3], &stuck[2], &free[2]] {
        line.broker.publish(message).await;
    }
    let options = Line::<H, B>::options().order(DeliveryOrder::ByKey).retries(policy());
    let subscription = line.subscribe(options).await;
    line.until("the other key is done", async || line.starts_of(&free[2]) == 1).await;
    line.until("the stuck one was tried again", async || line.starts_of(&stuck[0]) >= 2).await;
    assert_eq!((line.starts_of(&stuck[1]), line.starts_of(&stuck[2])), (0, 0), "overtaken");
    line.bench.probe.mend();
    line.settled().await;
    line.stop(subscription).await;
    for lane in [&stuck[..], &free[..3]] {
        let (lane, seen) = (ids(lane), line.bench.probe.messages());
        let mut of_lane: Vec<String> = seen.into_iter().filter(|id| lane.contains(id)).collect();
        of_lane.dedup();
        assert_eq!(of_lane, lane);
    }
    line.assert_each_once(&stuck).await;
    line.assert_each_once(&free).await;
}
