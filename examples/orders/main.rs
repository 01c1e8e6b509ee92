//! A stock service that applies every order event exactly once.
//!
//! `orders` demonstrates it on traffic with redeliveries and proves the result; `orders FILE`
//! applies a stream of CloudEvents.

mod batch;
mod database;
mod demo;
mod events;
mod fact;
mod file;
mod handlers;
mod lines;
mod outage;
mod progress;
mod proof;
mod report;
mod sql;
mod tally;
mod traffic;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use inbox::Inbox;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::database::{Database, Postgres, Sqlite};
use crate::file::Stream;
use crate::outage::Outage;
use crate::traffic::Traffic;

const MAX_BATCH: i64 = 100_000;

/// A stock service that applies every order event exactly once.
#[derive(Parser)]
#[command(
    after_help = "Without FILE it makes 2000 order events with redeliveries, applies them and \
                        proves the result.\n\nExit code: 0 all well, 1 a line failed or was rejected \
                        (or the proof does not hold), 2 not started or cut short."
)]
struct Arguments {
    /// A stream of CloudEvents, one JSON object a line; `-` is stdin
    file: Option<PathBuf>,
    /// Keep the SQLite database in this file; running again skips what was processed
    #[arg(long, value_name = "PATH", requires = "file")]
    db: Option<PathBuf>,
    /// Work in this PostgreSQL database instead: postgres://user@host/database. With FILE, in its
    /// tables `stock` and `orders`, which are made where there are none; without, in a schema that is
    /// dropped at the end
    #[arg(long, value_name = "URL", conflicts_with = "db")]
    database_url: Option<String>,
    /// Commit N lines at once: a line that fails is tried again after the others of its batch
    #[arg(long, value_name = "N", default_value_t = 1, requires = "file")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_BATCH))]
    batch: u32,
    /// For tests: run on a server whose fsync is off
    #[arg(long, hide = true)]
    accept_fsync_off: bool,
    /// Print the summary as one JSON object
    #[arg(long, requires = "file")]
    json: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log_to_stderr();
    match run(&arguments).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            progress::say(&format!("orders: {error:#}"));
            ExitCode::from(2)
        }
    }
}

/// The inbox's own log lines: what it runs, and warnings.
fn log_to_stderr() {
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false).without_time();
    let inbox = Targets::new().with_target("inbox", LevelFilter::INFO);
    tracing_subscriber::registry().with(lines).with(inbox).init();
}

async fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let accept = arguments.accept_fsync_off;
    match (&arguments.file, &arguments.database_url) {
        (None, None) => demonstrate(Sqlite::open(None).await?).await,
        (None, Some(url)) => {
            demonstrate(Postgres::open_for_demonstration(url, accept).await?).await
        }
        (Some(file), url) => {
            let stream = Stream::open(file).await?;
            match url {
                None => {
                    apply(stream, Sqlite::open(arguments.db.as_deref()).await?, arguments).await
                }
                Some(url) => apply(stream, Postgres::open(url, accept).await?, arguments).await,
            }
        }
    }
}

/// The inbox of the stock service: the handlers that write to this database.
async fn inbox<D: Database>(database: &D, outage: Outage) -> anyhow::Result<Inbox<D::Store>> {
    let inbox = Inbox::from_registry()
        .store(database.store())
        .state(outage)
        .consumers([D::CONSUMER])
        // CloudEvents: an id is unique within its source.
        .ids_unique_per_source()
        .build()
        .await?;
    Ok(inbox)
}

/// Whatever ends it, Ctrl-C too, what it made in the database is dropped.
async fn demonstrate<D: Database>(database: D) -> anyhow::Result<bool> {
    let shown = tokio::select! {
        shown = show(&database) => shown,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
    };
    database.close().await?;
    shown
}

async fn show<D: Database>(database: &D) -> anyhow::Result<bool> {
    let traffic = Traffic::generate();
    let inbox = inbox(database, Outage::hitting(traffic.outages.clone())).await?;
    let counts_hold = demo::run(&inbox, traffic.lanes).await?;
    let (table, verdict, stock_holds) =
        proof::render(&proof::compare(&traffic.facts, &database.stock().await?));
    report::line(&format!("{table}\n{verdict}"))?;
    if !counts_hold {
        progress::say("orders: not every event was delivered and processed as planned");
    }
    Ok(counts_hold && stock_holds)
}

async fn apply<D: Database>(
    stream: Stream,
    database: D,
    arguments: &Arguments,
) -> anyhow::Result<bool> {
    let inbox = inbox(&database, Outage::default()).await?;
    let mut worker = inbox.consumer(D::CONSUMER)?.worker();
    let tally = file::apply(stream, &mut worker, arguments.batch as usize).await?;
    drop(worker); // it may hold a connection, for which closing would wait
    database.close().await?;
    if arguments.json {
        report::json(&tally)?
    } else {
        report::summary(&tally)?
    }
    Ok(tally.all_well())
}
