//! Moving the runtime's clock: what would take seconds is over at once, and at a known point.

use std::future::pending;
use std::time::Duration;

/// Never ends; `time` has passed when it is polled again. Needs a runtime of one thread.
pub(crate) async fn outlive(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
    pending::<()>().await;
}
