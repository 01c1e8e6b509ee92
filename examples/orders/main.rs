//! A stock service that applies every order event exactly once.
//!
//! `orders` demonstrates it on traffic with redeliveries and proves the result; `orders FILE`
//! applies a stream of CloudEvents.

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

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use inbox::Inbox;
use inbox_sqlite::SqliteInboxStore;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::database::Database;
use crate::file::Stream;
use crate::outage::Outage;
use crate::traffic::Traffic;

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
    /// Print the summary as one JSON object
    #[arg(long, requires = "file")]
    json: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log_to_stderr();
    let ended = match &arguments.file {
        None => demonstrate().await,
        Some(file) => apply(file, arguments.db.as_deref(), arguments.json).await,
    };
    match ended {
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

/// The inbox of the stock service: every handler that is linked into this program.
async fn inbox(database: &Database, outage: Outage) -> anyhow::Result<Inbox<SqliteInboxStore>> {
    let inbox = Inbox::from_registry()
        .store(database.store())
        .state(outage)
        .expect_consumers([handlers::CONSUMER])
        // CloudEvents: an id is unique within its source.
        .ids_unique_per_source()
        .build()
        .await?;
    Ok(inbox)
}

async fn demonstrate() -> anyhow::Result<bool> {
    let traffic = Traffic::generate();
    let database = Database::open(None).await?;
    let inbox = inbox(&database, Outage::hitting(traffic.outages.clone())).await?;
    let counts_hold = demo::run(&inbox, traffic.lanes).await?;
    let (table, verdict, stock_holds) =
        proof::render(&proof::compare(&traffic.facts, &database.stock().await?));
    database.close().await;
    report::line(&format!("{table}\n{verdict}"))?;
    if !counts_hold {
        progress::say("orders: not every event was delivered and processed as planned");
    }
    Ok(counts_hold && stock_holds)
}

async fn apply(file: &Path, db: Option<&Path>, json: bool) -> anyhow::Result<bool> {
    let stream = Stream::open(file).await?;
    let database = Database::open(db).await?;
    let inbox = inbox(&database, Outage::default()).await?;
    let tally = file::apply(stream, &inbox).await?;
    database.close().await;
    if json {
        report::json(&tally)?
    } else {
        report::summary(&tally)?
    }
    Ok(tally.all_well())
}
