//! `duplicates`: redeliveries only, one by one.

use sqlx::PgPool;
use uuid::Uuid;

use crate::bed::{Bed, Network};
use crate::message::{CONSUMER, Ids, envelope, inbox};
use crate::report::Comparison;
use crate::rounds::{Case, Rounds};
use crate::{by_hand, single};

const WORKERS: [usize; 2] = [1, 16];
const MESSAGES: usize = 1_000;

pub(crate) async fn run(quick: bool) -> anyhow::Result<Vec<Comparison>> {
    let bed = Bed::start().await?;
    let mut rounds = Rounds::new("duplicates", quick, 2 * WORKERS.len() * 4)?;
    let ids = processed(&bed.pool(Network::Local, 1).await?).await?;
    for network in Network::ALL {
        for workers in WORKERS {
            let pool = bed.pool(network, workers as u32).await?;
            let ours = single::ours(&pool, workers, ids.clone()).await?;
            let baselines = [
                single::hand(&pool, workers, ids.clone()),
                single::hand_held(&pool, workers, ids.clone()),
            ];
            let case = Case { name: network.name().to_owned(), workers, batch: 1 };
            rounds.compare(case, &ours, &baselines).await?;
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
    for id in &ids {
        let _ = worker.dispatch(&envelope(*id)).await?;
        by_hand::apply(&mut connection, *id).await?;
    }
    Ok(Ids::Known(ids.into()))
}
