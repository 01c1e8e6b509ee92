//! Who applies many messages at once: ours, and the same technique by hand.

use inbox_postgres::PgInboxStore;
use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};

use crate::by_hand::{self, Together};
use crate::contender::{Contender, Worker};
use crate::message::{CONSUMER, Handling, Messages, Source, builder};

/// One worker and what it works with.
struct Batches {
    messages: Messages,
    size: usize,
    how: How,
}

enum How {
    Ours(inbox::Worker<PgInboxStore>),
    Hand(PoolConnection<Postgres>, Together),
}

impl Worker for Batches {
    async fn step(&mut self) -> anyhow::Result<u64> {
        let orders = self.messages.batch(self.size);
        match &mut self.how {
            How::Ours(worker) => {
                let envelopes: Vec<_> = orders.iter().map(|order| order.envelope()).collect();
                for (order, answer) in orders.iter().zip(worker.dispatch_batch(&envelopes).await) {
                    order.expect(answer)?;
                }
            }
            How::Hand(connection, how) => by_hand::apply_all(connection, orders, *how).await?,
        }
        Ok(self.size as u64)
    }
}

/// What is compared in batches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) workers: usize,
    pub(crate) size: usize,
    /// Whether all workers run at the same time, by choice.
    pub(crate) parallel: bool,
}

/// `worker.dispatch_batch`, and the baseline that only this one has.
pub(crate) async fn pair(
    pool: &PgPool,
    setting: Setting,
    handling: Handling,
    source: &Source,
) -> anyhow::Result<[Contender; 2]> {
    let name = match handling {
        Handling::Each => "dispatch_batch",
        Handling::AtOnce => "dispatch_batch with a batch handler",
    };
    let by_hand = by_hand(pool, setting, handling, source).rival_of(name);
    Ok([ours(name, pool, setting, handling, source).await?, by_hand])
}

async fn ours(
    name: &'static str,
    pool: &PgPool,
    setting: Setting,
    handling: Handling,
    source: &Source,
) -> anyhow::Result<Contender> {
    let Setting { workers, size, parallel } = setting;
    let builder = builder(pool, handling);
    let builder = if parallel { builder.parallel_batches_may_deadlock() } else { builder };
    let (consumer, source) = (builder.build().await?.consumer(CONSUMER)?, source.clone());
    Ok(Contender::of_workers(name, workers, move || {
        let how = How::Ours(consumer.worker());
        std::future::ready(Ok(Batches { messages: source.messages(), size, how }))
    }))
}

fn by_hand(pool: &PgPool, setting: Setting, handling: Handling, source: &Source) -> Contender {
    let Setting { workers, size, parallel } = setting;
    let (pool, source) = (pool.clone(), source.clone());
    Contender::of_workers("hand-batch", workers, move || {
        let (pool, messages) = (pool.clone(), source.messages());
        let how = Together { handling, alone: !parallel };
        async move { Ok(Batches { messages, size, how: How::Hand(pool.acquire().await?, how) }) }
    })
}
