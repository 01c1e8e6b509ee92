//! Messages that fail and come back.

use std::time::{Duration, Instant};

use inbox::{DeliveryOrder, RetryPolicy};

use super::bench::Line;
use super::broker::Broker;
use crate::command::End;
use crate::harness::Harness;

pub async fn a_failed_message_is_delivered_again_after_about_its_wait<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let message = line.publish(End::Error).await;
    let wait = Duration::from_secs(3);
    let options = Line::<H, B>::options().retries(RetryPolicy::default().waits(wait, wait));
    let subscription = line.subscribe(options).await;
    line.until("it was tried", async || line.starts_of(&message) == 1).await;
    let tried = Instant::now();
    line.bench.probe.mend();
    line.until("it was tried again", async || line.starts_of(&message) == 2).await;
    // The policy shortens a wait by up to a half, and brokers have clocks of their own.
    let waited = tried.elapsed();
    assert!(waited > Duration::from_secs(1) && waited < Duration::from_secs(20), "{waited:?}");
    line.settled().await;
    line.stop(subscription).await;
    line.assert_each_once(&[message]).await;
}

pub async fn p1_a_message_that_keeps_failing_is_put_away_after_its_attempts<
    H: Harness,
    B: Broker,
>() {
    for end in [End::Error, End::Panic] {
        let line = Line::<H, B>::start().await;
        let message = line.publish(end).await;
        let waits = (Duration::from_millis(100), Duration::from_millis(200));
        let policy = RetryPolicy::default().attempts(3).waits(waits.0, waits.1);
        let subscription = line.subscribe(Line::<H, B>::options().retries(policy)).await;
        let [letter] = line.letters(1).await.try_into().unwrap();
        line.settled().await;
        line.stop(subscription).await;
        assert_eq!((letter.reason.as_str(), letter.attempts), ("attempts-exhausted", 3));
        assert_eq!(line.starts_of(&message), 3);
        assert!(!line.bench.has_row(&message).await);
        assert_eq!(line.begun(&message).await, 0);
    }
}

pub async fn in_an_ordered_lane_the_attempts_are_counted_too<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let message = line.publish(End::Error).await;
    let waits = (Duration::from_millis(50), Duration::from_millis(100));
    let policy = RetryPolicy::default().attempts(4).waits(waits.0, waits.1);
    let options = Line::<H, B>::options().order(DeliveryOrder::Strict).retries(policy);
    let subscription = line.subscribe(options).await;
    let [letter] = line.letters(1).await.try_into().unwrap();
    line.settled().await;
    line.stop(subscription).await;
    assert_eq!((letter.reason.as_str(), letter.attempts), ("attempts-exhausted", 4));
    assert_eq!(line.starts_of(&message), 4);
}
