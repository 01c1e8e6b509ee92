//! Moving the runtime's clock: what would take seconds is over at once, and at a known point.

use std::time::Duration;

use futures_util::FutureExt;

/// How long it may take until somebody notices: far more than it ever does.
const PATIENCE: Duration = Duration::from_secs(20);

/// Never ends; `time` has passed when it is polled again, and whoever waits for it is to give up
/// then. Needs a runtime of one thread.
///
/// # Panics
/// When nobody gives up, so that a test fails instead of hanging.
pub(crate) async fn outlive(time: Duration) {
    tokio::time::pause();
    // Its first poll moves the clock. Nobody may give us up between the pause and its end.
    let _ = tokio::time::advance(time).now_or_never();
    tokio::time::resume();
    tokio::time::sleep(PATIENCE).await;
    panic!("{time:?} have passed, and nothing was given up");
}
