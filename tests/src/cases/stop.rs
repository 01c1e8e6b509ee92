//! The stop handle: stop taking, finish what runs, tell when done.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use inbox::{DispatchErrorKind as Kind, Outcome};

use crate::answer::{Attempt, Failed};
use crate::bench::Bench;
use crate::command::{End, envelope};
use crate::harness::Harness;

pub async fn a_stopping_inbox_takes_no_more_finishes_what_runs_and_tells_when_done<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let stop = bench.inbox.stop_handle();
    let running = envelope([End::Wait(Box::new(End::Ok))]);
    let consumer = bench.consumer();
    let message = running.clone();
    let begun = tokio::spawn(async move { consumer.dispatch(&message).await });
    bench.probe.arrived().await;
    assert!(!stop.is_stopping());
    let mut stopped = pin!(stop.stop());
    let early = poll_fn(|context| Poll::Ready(stopped.as_mut().poll(context))).await;
    assert!(early.is_pending(), "told done while a dispatch runs");
    stop.stopping().await;
    assert!(stop.is_stopping() && stop.running() == 1);
    let late = envelope([]);
    let _ = bench.dispatch(&late).await.transient(Kind::Stopping, Attempt::NotCounted);
    assert!(!bench.has_row(&late).await && bench.effects_of(&late).await.is_empty());
    bench.probe.open();
    stopped.await;
    assert!(bench.has_row(&running).await, "told done before the commit");
    assert_eq!(begun.await.unwrap().unwrap(), Outcome::Processed);
}

pub async fn a_dropped_dispatch_does_not_hold_up_the_stop<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let envelope = envelope([End::Wait(Box::new(End::Ok))]);
    tokio::select! {
        _ = bench.dispatch(&envelope) => panic!("nobody has opened the gate"),
        () = bench.probe.arrived() => {}
    }
    bench.inbox.stop_handle().stop().await;
    assert_eq!(bench.inbox.stop_handle().running(), 0);
}
