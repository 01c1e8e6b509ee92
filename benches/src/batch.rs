//! `batch`: many messages a transaction.

use sqlx::PgPool;

use crate::bed::{Bed, Network, ROWS};
use crate::message::{Handling, Ids, Rows, Source};
use crate::report::Comparison;
use crate::rounds::{Case, Rounds};
use crate::single;
use crate::together::{self, Setting};

const WORKERS: usize = 8;
const SIZES: [usize; 4] = [10, 50, 100, 500];
const POISON: [u8; 2] = [1, 10];
const OWN: Rows = Rows::Own { workers: WORKERS as i32 };
/// Who shares rows: beside each other batches would deadlock, so they take turns, as is the default.
const SHARED: [(&str, Rows); 3] =
    [("own rows", OWN), ("10,000 rows", Rows::Shared(ROWS)), ("100 rows", Rows::Shared(100))];
const TURNS: [usize; 2] = [10, 100];

/// Contenders of a case with handlers of both kinds: ours and the same by hand, and one by one.
const BOTH: usize = 6;

pub(crate) async fn run(quick: bool) -> anyhow::Result<Vec<Comparison>> {
    let bed = Bed::start().await?;
    let pool = bed.pool(Network::Local, WORKERS as u32).await?;
    let slices = (SIZES.len() + POISON.len()) * BOTH + SHARED.len() * TURNS.len() * (BOTH + 1);
    let mut rounds = Rounds::new("batch", quick, slices)?;
    for size in SIZES {
        let case = Case { name: "beside each other".to_owned(), workers: WORKERS, batch: size };
        compare(&mut rounds, &pool, case, true, &Source::new(Ids::Fresh, OWN, 0)).await?;
    }
    for poison in POISON {
        let name = format!("beside each other, {poison}% poison");
        let case = Case { name, workers: WORKERS, batch: 100 };
        compare(&mut rounds, &pool, case, true, &Source::new(Ids::Fresh, OWN, poison)).await?;
    }
    for (name, rows) in SHARED {
        for size in TURNS {
            let case = Case { name: format!("in turn, {name}"), workers: WORKERS, batch: size };
            compare(&mut rounds, &pool, case, false, &Source::new(Ids::Fresh, rows, 0)).await?;
        }
    }
    pool.close().await;
    Ok(rounds.finish())
}

/// Both kinds of handlers against one by one and the same technique by hand; where batches take turns,
/// against ours one by one too.
async fn compare(
    rounds: &mut Rounds,
    pool: &PgPool,
    case: Case,
    parallel: bool,
    source: &Source,
) -> anyhow::Result<()> {
    let setting = Setting { workers: case.workers, size: case.batch, parallel };
    let [each, each_by_hand] = together::pair(pool, setting, Handling::Each, source).await?;
    let [once, once_by_hand] = together::pair(pool, setting, Handling::AtOnce, source).await?;
    let mut baselines = vec![
        single::hand(pool, case.workers, source),
        single::hand_held(pool, case.workers, source),
        each_by_hand,
        once_by_hand,
    ];
    if !parallel {
        baselines.push(single::worker(pool, case.workers, source).await?);
    }
    rounds.compare(case, &[each, once], &baselines).await
}
