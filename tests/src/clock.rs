//! Moving the runtime's clock: what would take seconds is over at once, and at a known point.

use std::time::Duration;

/// How long it may take until somebody notices: far more than it ever does.
const PATIENCE: Duration = Duration::from_secs(20);

/// Never ends; `time` has passed when it is polled again, and whoever waits for it is to give up
/// then. Needs a runtime of one thread.
///
/// # Panics
/// When nobody gives up, so that a test fails instead of hanging.
pub(crate) async fn outlive(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
    tokio::time::sleep(PATIENCE).await;
    panic!("{time:?} have passed, and nothing was given up");
}
