//! What is killed, and when.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::place::{Place, STREAM, unsettled};
use crate::subscribers::{Consumers, Published, restart, until, until_settled};

/// Every so many rounds; the first of each comes early.
const LEADER_EVERY: usize = 8;
const DATABASE_EVERY: usize = 40;

pub(crate) struct Chaos {
    pub(crate) place: Place,
    published: Arc<Published>,
    consumers: Consumers,
    rounds: usize,
    tally: Tally,
}

/// What was killed, and how many deliveries that made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) kills: usize,
    pub(crate) leaders: usize,
    pub(crate) databases: usize,
    pub(crate) deliveries: u64,
}

impl Chaos {
    pub(crate) fn new(place: Place, published: Arc<Published>) -> Self {
        let fixed = [place.stage.url(), "nats", STREAM].map(str::to_owned);
        let consumers = Consumers::start(fixed.into_iter().chain(place.nats.urls()).collect());
        Self { place, published, consumers, rounds: 0, tally: Tally::default() }
    }

    pub(crate) fn rounds(&self) -> usize {
        self.rounds
    }

    /// A consumer dies and is replaced; now and then a server too.
    pub(crate) async fn round(&mut self) {
        sleep(Duration::from_millis(fastrand::u64(0..1_500))).await;
        self.consumers.kill_one().await;
        self.tally.kills += 1;
        if self.rounds % LEADER_EVERY == 3 {
            self.kill_leader().await;
        }
        if matches!(self.rounds % DATABASE_EVERY, 1 | 6) {
            restart(&mut self.place.database, self.tally.databases.is_multiple_of(2)).await;
            self.tally.databases += 1;
        }
        self.rounds += 1;
    }

    /// Only one server is away at a time: two of three make no majority.
    async fn kill_leader(&mut self) {
        let leader = until("the stream is whole", async || self.place.leader().await).await;
        let node = self.place.nats.node(&leader).expect("a node of ours");
        match fastrand::bool() {
            true => node.kill9().await.unwrap(),
            false => node.stop().await.unwrap(),
        }
        sleep(Duration::from_millis(fastrand::u64(0..3_000))).await;
        node.restart().await.unwrap();
        self.tally.leaders += 1;
    }

    /// Nothing dies any more: waits until all is settled, and ends the consumers in good order.
    pub(crate) async fn settle(&mut self) -> Tally {
        assert!(self.published.is_enough());
        let jetstream = &self.place.jetstream;
        until_settled(async || unsettled(jetstream).await.map(|(left, _)| left)).await;
        self.consumers.end().await;
        let deliveries = unsettled(jetstream).await;
        let (left, deliveries) = deliveries.unwrap_or_else(|| panic!("{STREAM} is gone"));
        assert_eq!(left, 0, "something was fetched and not settled");
        self.tally.deliveries = deliveries;
        self.tally
    }
}
