//! What is killed, and when.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::place::{Place, QUEUE, unsettled};
use crate::subscribers::{Consumers, Published, restart, until, until_settled};

/// Every so many rounds; the first of each comes early.
const BROKER_EVERY: usize = 8;
const DATABASE_EVERY: usize = 40;

pub(crate) struct Chaos {
    pub(crate) place: Place,
    published: Arc<Published>,
    consumers: Consumers,
    rounds: usize,
    tally: Tally,
}

/// What was killed, and how many deliveries were not the first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) kills: usize,
    pub(crate) brokers: usize,
    pub(crate) databases: usize,
    pub(crate) redeliveries: u64,
}

impl Chaos {
    pub(crate) fn new(place: Place, published: Arc<Published>) -> Self {
        let url = place.rabbitmq.broker().url();
        let arguments = [place.stage.url(), "rabbitmq", QUEUE, url].map(str::to_owned);
        let consumers = Consumers::start(arguments.to_vec());
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
        if self.rounds % BROKER_EVERY == 3 {
            self.restart_broker().await;
        }
        if matches!(self.rounds % DATABASE_EVERY, 1 | 6) {
            restart(&mut self.place.database, self.tally.databases.is_multiple_of(2)).await;
            self.tally.databases += 1;
        }
        self.rounds += 1;
    }

    async fn restart_broker(&mut self) {
        self.tally.redeliveries += self.redeliveries().await;
        let rabbitmq = &mut self.place.rabbitmq;
        match self.tally.brokers % 2 {
            0 => rabbitmq.stop().await.unwrap(),
            _ => rabbitmq.kill9().await.unwrap(),
        }
        sleep(Duration::from_millis(fastrand::u64(0..1_000))).await;
        rabbitmq.restart().await.unwrap();
        self.tally.brokers += 1;
    }

    /// Nothing dies any more: waits until all is settled, and ends the consumers in good order.
    pub(crate) async fn settle(&mut self) -> Tally {
        assert!(self.published.is_enough());
        let broker = self.place.rabbitmq.broker();
        until_settled(async || unsettled(broker).await).await;
        self.consumers.end().await;
        let left = unsettled(broker).await;
        assert_eq!(left, Some(0), "something was delivered and not settled");
        self.tally.redeliveries += self.redeliveries().await;
        self.tally
    }

    /// Since the broker was started.
    async fn redeliveries(&self) -> u64 {
        let question = "maps:fold(fun(_, Counted, Sum) -> \
                        Sum + maps:get(messages_redelivered_total, Counted, 0) end, 0, \
                        rabbit_global_counters:overview()).\n";
        until("the broker tells of redeliveries", async || {
            let answer = self.place.rabbitmq.broker().ask(question).await.unwrap()?;
            answer.trim().strip_prefix("{ok, ")?.strip_suffix('}')?.parse().ok()
        })
        .await
    }
}
