//! A database that goes away and comes back.

use std::time::Duration;

use test_servers::postgres::{Cluster, Shutdown};
use tokio::time::sleep;

/// As a power cut would, or in good order.
pub(crate) async fn restart(database: &mut Cluster, power_cut: bool) {
    match power_cut {
        true => database.kill9().await.unwrap(),
        false => database.stop(Shutdown::Fast).await.unwrap(),
    }
    sleep(Duration::from_millis(fastrand::u64(0..1_000))).await;
    database.restart().await.unwrap();
}
