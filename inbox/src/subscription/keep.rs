//! Telling the broker that messages are still worked on.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::sleep;

use super::Settle;
use super::settle::in_time;
use super::shared::Shared;
use crate::telemetry;

/// Tells the broker of all that is not settled.
pub(super) async fn keep<B: Settle>(
    shared: Arc<Shared<B>>,
    consumer: &'static str,
    every: Duration,
) {
    loop {
        sleep(every / 4).await;
        let silent = shared.silent_for(every);
        for result in join_all(silent.iter().map(|broker| in_time(broker.keep()))).await {
            if let Err(error) = result {
                telemetry::keep_failed(consumer, &*error);
            }
        }
    }
}
