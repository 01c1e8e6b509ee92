//! What is killed, and when.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use test_servers::postgres::Shutdown;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::place::{Place, STREAM, unsettled, until};
use crate::publisher::Published;

const PROCESSES: usize = 4;

/// Every so many rounds; the first of each comes early.
const LEADER_EVERY: usize = 8;
const DATABASE_EVERY: usize = 40;

pub(crate) struct Chaos {
    pub(crate) place: Place,
    published: Arc<Published>,
    consumers: Vec<Child>,
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
        let consumers = (0..PROCESSES).map(|_| consumer(&place)).collect();
        Self { place, published, consumers, rounds: 0, tally: Tally::default() }
    }

    pub(crate) fn rounds(&self) -> usize {
        self.rounds
    }

    /// A consumer dies and is replaced; now and then a server too.
    pub(crate) async fn round(&mut self) {
        sleep(Duration::from_millis(fastrand::u64(0..1_500))).await;
        let number = fastrand::usize(0..PROCESSES);
        let mut dying = std::mem::replace(&mut self.consumers[number], consumer(&self.place));
        assert!(dying.try_wait().unwrap().is_none(), "a consumer ended by itself");
        dying.kill().await.unwrap();
        self.tally.kills += 1;
        if self.rounds % LEADER_EVERY == 3 {
            self.kill_leader().await;
        }
        if matches!(self.rounds % DATABASE_EVERY, 1 | 6) {
            self.restart_database().await;
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

    async fn restart_database(&mut self) {
        let database = &mut self.place.database;
        match self.tally.databases % 2 {
            0 => database.kill9().await.unwrap(),
            _ => database.stop(Shutdown::Fast).await.unwrap(),
        }
        sleep(Duration::from_millis(fastrand::u64(0..1_000))).await;
        database.restart().await.unwrap();
        self.tally.databases += 1;
    }

    /// Nothing dies any more: waits until all is settled, and ends the consumers in good order.
    pub(crate) async fn settle(&mut self) -> Tally {
        assert!(self.published.is_enough());
        let mut left = u64::MAX;
        while left > 0 {
            let progress = until("more is settled", async || {
                unsettled(&self.place.jetstream).await.filter(|(now, _)| *now < left)
            });
            (left, _) = progress.await;
        }
        for mut consumer in self.consumers.drain(..) {
            drop(consumer.stdin.take());
            let ended = timeout(Duration::from_secs(30), consumer.wait()).await;
            assert!(ended.expect("it ends").unwrap().success(), "a consumer failed");
        }
        let deliveries = unsettled(&self.place.jetstream).await;
        let (left, deliveries) = deliveries.unwrap_or_else(|| panic!("{STREAM} is gone"));
        assert_eq!(left, 0, "something was fetched and not settled");
        self.tally.deliveries = deliveries;
        self.tally
    }
}

fn consumer(place: &Place) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_battery-subscriber"));
    command.args([place.stage.url(), STREAM]).args(place.nats.urls());
    command.stdin(Stdio::piped()).kill_on_drop(true).spawn().unwrap()
}
