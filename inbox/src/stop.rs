//! [`StopHandle`]: stop taking, finish what runs, tell when done.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Stops an inbox gracefully. Clones stop the same inbox.
///
/// ```
/// # async fn on_sigterm<S: inbox::InboxStore>(inbox: inbox::Inbox<S>) {
/// let stop = inbox.stop_handle();
/// // A subscription's loop ends on `stop.stopping().await`; then, on SIGTERM:
/// stop.stop().await; // every dispatch that had begun has answered
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct StopHandle {
    running: TaskTracker,
    stopping: CancellationToken,
}

impl StopHandle {
    /// From now on `dispatch` answers [`Stopping`](crate::DispatchErrorKind::Stopping), which is
    /// transient and counts no attempt, and subscriptions fetch no more. Resolves when every dispatch
    /// that had begun has answered or was dropped, and every subscription has finished what it had
    /// fetched. Dropping this future changes nothing: the inbox stays stopped.
    pub async fn stop(&self) {
        self.stopping.cancel();
        self.running.close();
        self.running.wait().await;
    }

    /// Whether [`stop`](Self::stop) was called.
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Resolves when [`stop`](Self::stop) is called: the moment to fetch no more messages.
    pub async fn stopping(&self) {
        self.stopping.cancelled().await;
    }

    /// How many dispatches and subscriptions run now.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Counts a dispatch in, unless the inbox is stopping. Counted first and asked afterwards, so
    /// that `stop` cannot resolve between the two.
    pub(crate) fn enter(&self) -> Option<TaskTrackerToken> {
        let counted = self.running.token();
        (!self.is_stopping()).then_some(counted)
    }
}
