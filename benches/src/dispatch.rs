//! `dispatch`: one message a transaction.

use crate::bed::{Bed, Network};
use crate::message::Source;
use crate::report::Comparison;
use crate::rounds::{Case, Rounds};
use crate::{pgbench, single};

const WORKERS: [usize; 4] = [1, 8, 16, 32];

pub(crate) async fn run(quick: bool) -> anyhow::Result<Vec<Comparison>> {
    let bed = Bed::start().await?;
    let mut rounds = Rounds::new("dispatch", quick, 2 * WORKERS.len() * 6)?;
    for network in Network::ALL {
        for workers in WORKERS {
            let pool = bed.pool(network, workers as u32).await?;
            let ours = single::ours(&pool, workers, &Source::fresh()).await?;
            let mut baselines = vec![
                single::hand(&pool, workers, &Source::fresh()),
                single::hand_held(&pool, workers, &Source::fresh()),
                single::no_inbox(&pool, workers),
            ];
            baselines.extend(pgbench::contender(&bed, network, workers)?);
            let case = Case { name: network.name().to_owned(), workers, batch: 1 };
            rounds.compare(case, &ours, &baselines).await?;
            pool.close().await;
        }
    }
    Ok(rounds.finish())
}
