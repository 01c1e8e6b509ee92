//! Publishes while everything is killed around it, at least once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use battery::Message;
use futures_util::future::join_all;

use super::until;

/// Publishes that are on their way at once.
const AT_ONCE: usize = 100;

/// How far it is ahead of the consumers at most, so that all of it is consumed while things die.
const AHEAD: u64 = 1_000;

/// How far it has come.
pub(crate) struct Published {
    enough: usize,
    count: AtomicUsize,
    pub(crate) end: AtomicBool,
}

impl Published {
    pub(crate) fn new(enough: usize) -> Self {
        Self { enough, count: AtomicUsize::new(0), end: AtomicBool::new(false) }
    }

    pub(crate) fn is_enough(&self) -> bool {
        self.count.load(Ordering::SeqCst) >= self.enough
    }
}

/// Until it is told to end. Answers all that the broker has confirmed, every sixth a second publish of a
/// message before it. `is_confirmed` publishes once, `unsettled` tells how much is not settled.
pub(crate) async fn publish(
    published: Arc<Published>,
    is_confirmed: impl AsyncFn(Message) -> bool,
    unsettled: impl AsyncFn() -> Option<u64>,
) -> Vec<Message> {
    let mut all: Vec<Message> = Vec::new();
    while !published.end.load(Ordering::SeqCst) {
        let mut some: Vec<Message> = Vec::new();
        for number in 0..AT_ONCE {
            let before = all.len() + some.len();
            let nap = if number % 16 == 0 { 0.005 * fastrand::f64() } else { 0.0 };
            some.push(match number % 6 {
                5 => *all.iter().chain(&some).nth(fastrand::usize(0..before)).unwrap(),
                _ => Message { nap, ..Message::new() },
            });
        }
        join_all(some.iter().map(|one| until_confirmed(&is_confirmed, *one))).await;
        all.extend(some);
        published.count.store(all.len(), Ordering::SeqCst);
        until("the consumers keep up", async || unsettled().await.filter(|left| *left < AHEAD))
            .await;
    }
    all
}

/// Where the confirmation is lost, the broker has it twice.
async fn until_confirmed(is_confirmed: &impl AsyncFn(Message) -> bool, one: Message) {
    while !is_confirmed(one).await {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
