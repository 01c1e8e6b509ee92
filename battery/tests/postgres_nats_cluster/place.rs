//! The servers, the stream and its consumer.

use std::time::Duration;

use battery::{CONSUMERS, Result, Stage};
use inbox_nats::async_nats;
use inbox_nats::async_nats::jetstream::consumer::{AckPolicy, pull};
use inbox_nats::async_nats::jetstream::stream::Config;
use inbox_nats::async_nats::jetstream::{self, Context};
use test_servers::nats::NatsCluster;
use test_servers::postgres::{Cluster, Options};

use crate::subscribers::until;

pub(crate) const STREAM: &str = "battery";
pub(crate) const DEAD: &str = "dead";
pub(crate) const SUBJECT: &str = "battery.placed";

/// What a killed consumer had fetched is delivered again after this time.
const ACK_WAIT: Duration = Duration::from_secs(4);

pub(crate) struct Place {
    pub(crate) nats: NatsCluster,
    pub(crate) database: Cluster,
    pub(crate) stage: Stage,
    pub(crate) jetstream: Context,
}

impl Place {
    pub(crate) async fn start() -> Self {
        let nats = NatsCluster::start(3).await.unwrap();
        let database = Cluster::start(Options::default().durable()).await.unwrap();
        let stage = Stage::on(database.server()).await.unwrap();
        let urls = nats.urls();
        let jetstream = until("a client is let in", async || {
            Some(jetstream::new(async_nats::connect(urls.as_slice()).await.ok()?))
        });
        let jetstream = jetstream.await;
        until("the cluster has a leader", async || create(&jetstream).await.ok()).await;
        Self { nats, database, stage, jetstream }
    }

    /// The leader of the stream, where all its replicas are there and current.
    pub(crate) async fn leader(&self) -> Option<String> {
        let mut stream = self.jetstream.get_stream(STREAM).await.ok()?;
        let cluster = stream.info().await.ok()?.cluster.clone()?;
        let whole = cluster.replicas.len() == 2
            && cluster.replicas.iter().all(|replica| replica.current && !replica.offline);
        cluster.leader.filter(|_| whole)
    }
}

/// What is not settled, and how many deliveries there were.
pub(crate) async fn unsettled(jetstream: &Context) -> Option<(u64, u64)> {
    let stream = jetstream.get_stream(STREAM).await.ok()?;
    let consumer = stream.consumer_info(CONSUMERS[0]).await.ok()?;
    let unsettled = consumer.num_pending + consumer.num_ack_pending as u64;
    Some((unsettled, consumer.delivered.consumer_sequence))
}

async fn create(jetstream: &Context) -> Result<()> {
    for (name, subject) in [(STREAM, SUBJECT), (DEAD, "dead.>")] {
        let (name, subjects) = (name.to_owned(), vec![subject.to_owned()]);
        let config = Config { name, subjects, num_replicas: 3, ..Config::default() };
        jetstream.get_or_create_stream(config).await?;
    }
    let config = pull::Config {
        durable_name: Some(CONSUMERS[0].to_owned()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: ACK_WAIT,
        max_deliver: -1,
        ..pull::Config::default()
    };
    let stream = jetstream.get_stream(STREAM).await?;
    stream.get_or_create_consumer(CONSUMERS[0], config).await?;
    Ok(())
}

/// How many messages a stream has.
pub(crate) async fn count(jetstream: &Context, stream: &str) -> Result<u64> {
    Ok(jetstream.get_stream(stream).await?.cached_info().state.messages)
}
