//! Publishes while everything is killed around it, at least once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use battery::{Message, message};
use futures_util::future::join_all;
use inbox_nats::async_nats::HeaderMap;
use inbox_nats::async_nats::jetstream::Context;

use crate::place::{SUBJECT, unsettled, until};

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

/// Until it is told to end. Answers all that the stream has confirmed, every sixth a second publish of
/// a message before it.
pub(crate) async fn publish(jetstream: Context, published: Arc<Published>) -> Vec<Message> {
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
        join_all(some.iter().map(|one| until_confirmed(&jetstream, *one))).await;
        all.extend(some);
        published.count.store(all.len(), Ordering::SeqCst);
        until("the consumers keep up", async || {
            unsettled(&jetstream).await.filter(|(left, _)| *left < AHEAD)
        })
        .await;
    }
    all
}

/// Where the confirmation is lost, the stream has it twice.
async fn until_confirmed(jetstream: &Context, one: Message) {
    let envelope = message(one);
    let mut headers = HeaderMap::new();
    headers.insert("ce-specversion", "1.0");
    headers.insert("ce-id", one.id.to_string());
    headers.insert("ce-type", envelope.event_type());
    loop {
        let payload = envelope.payload().to_vec().into();
        let sent = jetstream.publish_with_headers(SUBJECT, headers.clone(), payload).await;
        let confirmed = match sent {
            Ok(confirmation) => confirmation.await.is_ok(),
            Err(_) => false,
        };
        if confirmed {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
