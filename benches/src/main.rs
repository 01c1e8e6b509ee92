//! Benchmarks against what one would write instead, as ratios from interleaved slices of the same run.
//!
//! `cargo run --release -p benches -- dispatch [--quick] [--json]`

mod contender;
mod dispatch;
mod report;

use clap::{Parser, ValueEnum};

#[derive(Clone, Copy, ValueEnum)]
enum Bench {
    /// One message a transaction: local, and through a network of 1 ms.
    Dispatch,
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
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let results = match arguments.bench {
        Bench::Dispatch => dispatch::run(arguments.quick).await?,
    };
    report::show(&results, arguments.json)
}
