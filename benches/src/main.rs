//! Benchmarks against what one would write instead, as ratios from interleaved slices of the same run.
//!
//! `cargo run --release -p benches -- NAME [--quick] [--json]`
//!
//! Each bench is a file: it makes its [`contender`]s for each case and lets [`rounds`] compare them.
//! [`bed`] has the throwaway server, [`message`] what is applied, [`single`], [`together`] and
//! [`by_hand`] who applies it one by one and in batches; [`transports`] reads it from brokers.

mod batch;
mod bed;
mod by_hand;
mod contender;
mod core;
mod dispatch;
mod duplicates;
mod message;
mod nothing;
mod pgbench;
mod report;
mod rounds;
mod single;
mod together;
mod transports;

use clap::{Parser, ValueEnum};

#[derive(Clone, Copy, ValueEnum)]
enum Bench {
    /// One message a transaction: local, and through a network of 1 ms.
    Dispatch,
    /// Many messages a transaction: sizes, poison, and rows that are shared.
    Batch,
    /// Redeliveries only, one by one and in batches.
    Duplicates,
    /// From NATS JetStream and RabbitMQ through the inbox.
    Transports,
    /// What the core takes on a store that does nothing.
    Core,
}

/// Benchmarks on a throwaway PostgreSQL with fsync and synchronous_commit on.
#[derive(Parser)]
struct Arguments {
    bench: Bench,
    /// About a minute.
    #[arg(long)]
    quick: bool,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// With `core`: only so many dispatches, to be counted from outside.
    #[arg(long, hide = true)]
    dispatches: Option<u32>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if let Some(number) = arguments.dispatches {
        return core::dispatch(number).await;
    }
    let results = match arguments.bench {
        Bench::Dispatch => dispatch::run(arguments.quick).await?,
        Bench::Batch => batch::run(arguments.quick).await?,
        Bench::Duplicates => duplicates::run(arguments.quick).await?,
        Bench::Transports => transports::run(arguments.quick).await?,
        Bench::Core => core::run(arguments.quick).await?,
    };
    report::show(&results, arguments.json)
}
