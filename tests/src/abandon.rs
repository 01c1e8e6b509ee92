//! Giving a future up: what a timeout, or a process that is stopped, does to it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Polls `future` at most `polls` times and drops it then.
pub async fn at_most<F: Future>(polls: u32, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        let polled = future.as_mut().poll(context);
        if polled.is_pending() && left == 0 {
            return Poll::Ready(None);
        }
        polled.map(Some)
    })
    .await
}
