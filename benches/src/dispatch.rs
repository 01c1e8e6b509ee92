//! `dispatch`: one message a transaction.

use std::time::Duration;

use inbox_postgres::PgInboxStore;
use indicatif::ProgressBar;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor, PgPool};
use test_servers::postgres::{Cluster, Options};
use test_servers::proxy::Proxy;

use crate::contender::{Contender, ROWS, slice};
use crate::report::Result;

const TABLES: &str = "
    CREATE TABLE hand (
        consumer text NOT NULL, message_id uuid NOT NULL, event_type text NOT NULL,
        processed_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (consumer, message_id));
    CREATE TABLE stock (sku int PRIMARY KEY, reserved bigint NOT NULL);";

pub(crate) async fn run(quick: bool) -> anyhow::Result<Vec<Result>> {
    let (rounds, time) = if quick { (7, 400) } else { (21, 1000) };
    let cases = [("local", 1), ("local", 16), ("1 ms network", 1), ("1 ms network", 16)];
    let cluster = Cluster::start(Options::default().durable()).await?;
    let database = cluster.server().create_database().await?;
    let proxy = Proxy::in_front_of(database.direct_url())?;
    proxy.delay_each_way(Duration::from_micros(500));
    let near = prepared(database.direct_url()).await?;
    let far = connect(&proxy.url_for(database.direct_url())?).await?;

    let slices = rounds * cases.len() * Contender::ALL.len();
    let progress = ProgressBar::new(slices as u64);
    let mut results = Vec::new();
    for (case, workers) in cases {
        let pool = if case == "local" { &near } else { &far };
        let mut rates = vec![Vec::new(); Contender::ALL.len()];
        for _ in 0..rounds {
            for (contender, rates) in Contender::ALL.into_iter().zip(&mut rates) {
                rates.push(slice(contender, pool, workers, Duration::from_millis(time)).await?);
                progress.inc(1);
            }
        }
        results.extend(compare(case, workers, &rates));
    }
    progress.finish_and_clear();
    Ok(results)
}

/// Ours against each baseline, round by round.
fn compare(case: &'static str, workers: usize, rates: &[Vec<f64>]) -> Vec<Result> {
    let [hand, held, dispatch, worker] = rates else { return Vec::new() };
    let pairs = [
        (Contender::Dispatch, dispatch, Contender::Hand, hand),
        (Contender::Worker, worker, Contender::Hand, hand),
        (Contender::Worker, worker, Contender::HandHeld, held),
    ];
    let ratio = |(ours, a, baseline, b): (Contender, &Vec<f64>, Contender, &Vec<f64>)| {
        let ratios = a.iter().zip(b).map(|(a, b)| a / b).collect();
        Result::new(format!("{}, {case}", ours.name()), baseline.name(), workers, ratios)
    };
    pairs.map(ratio).into()
}

async fn prepared(url: &str) -> anyhow::Result<PgPool> {
    let pool = connect(url).await?;
    pool.execute(sqlx::raw_sql(TABLES)).await?;
    sqlx::query("INSERT INTO stock SELECT n, 0 FROM generate_series(0, $1) AS n")
        .bind(ROWS)
        .execute(&pool)
        .await?;
    PgInboxStore::new(pool.clone()).migrate().await?;
    Ok(pool)
}

async fn connect(url: &str) -> anyhow::Result<PgPool> {
    Ok(PgPoolOptions::new().max_connections(20).connect(url).await?)
}
