//! What the tests of consumer processes behind a broker have in common.

mod consumers;
mod database;
mod publishing;

use std::time::{Duration, Instant};

pub(crate) use consumers::Consumers;
pub(crate) use database::restart;
pub(crate) use publishing::{Published, publish};

/// Far longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for something of which nobody gives a signal.
pub(crate) async fn until<T>(what: &str, found: impl AsyncFn() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = found().await {
            return found;
        }
        assert!(since.elapsed() < PATIENCE, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Waits until nothing is unsettled, for as long as it becomes less.
pub(crate) async fn until_settled(unsettled: impl AsyncFn() -> Option<u64>) {
    let mut left = u64::MAX;
    while left > 0 {
        let less = async || unsettled().await.filter(|now| *now < left);
        left = until("more is settled", less).await;
    }
}
