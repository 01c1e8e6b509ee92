//! The servers, and what is in the queues.

use std::time::Duration;

use battery::Stage;
use test_servers::postgres::{Cluster, Options};
use test_servers::rabbitmq::{Broker, RabbitMq};
use tokio::time::timeout;

use crate::subscribers::until;

pub(crate) const QUEUE: &str = "battery";

/// The waits of a policy of at most five seconds.
const RETRIES: [&str; 4] = ["1s", "2s", "4s", "8s"];

pub(crate) struct Place {
    pub(crate) rabbitmq: RabbitMq,
    pub(crate) database: Cluster,
    pub(crate) stage: Stage,
}

impl Place {
    pub(crate) async fn start() -> Self {
        let rabbitmq = RabbitMq::start().await.unwrap();
        let database = Cluster::start(Options::default().durable()).await.unwrap();
        let stage = Stage::on(database.server()).await.unwrap();
        Self { rabbitmq, database, stage }
    }
}

/// What is not settled, and `None` while the broker cannot tell.
pub(crate) async fn unsettled(broker: &Broker) -> Option<u64> {
    let retries = RETRIES.map(|wait| format!("{QUEUE}.retry.{wait}"));
    let queues: Vec<String> = std::iter::once(QUEUE.to_owned()).chain(retries).collect();
    messages(broker, &queues).await
}

/// How many were put away.
pub(crate) async fn dead_letters(broker: &Broker) -> u64 {
    let dead = [format!("{QUEUE}.dead")];
    until("the broker tells of dead letters", async || messages(broker, &dead).await).await
}

async fn messages(broker: &Broker, queues: &[String]) -> Option<u64> {
    let counted = timeout(Duration::from_secs(5), broker.count(queues)).await;
    let (all, _) = counted.ok()?.ok()??;
    Some(all as u64)
}
