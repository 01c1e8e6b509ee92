//! `duplicates`: redeliveries only, one by one and in batches.

use sqlx::PgPool;
use uuid::Uuid;

use crate::bed::{Bed, Network, ROWS};
use crate::message::{CONSUMER, Handling, Ids, Order, Rows, Source, inbox};
use crate::report::Comparison;
use crate::rounds::{Case, Rounds};
use crate::together::{self, Setting};
use crate::{by_hand, single};

const WORKERS: [usize; 2] = [1, 16];
const MESSAGES: usize = 1_000;
const BATCH: usize = 100;

pub(crate) async fn run(quick: bool) -> anyhow::Result<Vec<Comparison>> {
    let bed = Bed::start().await?;
    let mut rounds = Rounds::new("duplicates", quick, 2 * WORKERS.len() * (4 + 4))?;
    let ids = processed(&bed.pool(Network::Local, 1).await?).await?;
    let source = Source::new(ids, Rows::Shared(ROWS), 0);
    for network in Network::ALL {
        for workers in WORKERS {
            let pool = bed.pool(network, workers as u32).await?;
            let ours = single::ours(&pool, workers, &source).await?;
            let baselines = || {
                let hand = single::hand(&pool, workers, &source);
                vec![hand, single::hand_held(&pool, workers, &source)]
            };
            let case = Case { name: network.name().to_owned(), workers, batch: 1 };
            rounds.compare(case.clone(), &ours, &baselines()).await?;
            // Nothing is written, so nobody waits for anybody.
            let setting = Setting { workers, size: BATCH, parallel: true };
            let [ours, rival] = together::pair(&pool, setting, Handling::Each, &source).await?;
            let mut baselines = baselines();
            baselines.push(rival);
            rounds.compare(Case { batch: BATCH, ..case }, &[ours], &baselines).await?;
            pool.close().await;
        }
    }
    Ok(rounds.finish())
}

/// Messages that were processed by ours and by hand.
async fn processed(pool: &PgPool) -> anyhow::Result<Ids> {
    let ids: Vec<Uuid> = (0..MESSAGES).map(|_| Uuid::now_v7()).collect();
    let mut worker = inbox(pool).await?.consumer(CONSUMER)?.worker();
    let mut connection = pool.acquire().await?;
    for &id in &ids {
        let order = Order { id, sku: 1 };
        let _ = worker.dispatch(&order.envelope()).await?;
        by_hand::apply(&mut connection, order).await?;
    }
    Ok(Ids::Known(ids.into()))
}
