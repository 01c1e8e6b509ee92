//! `core`: what the core itself takes, on a store that does nothing.
//!
//! Ratios are against a goal. Allocations and instructions do not depend on how busy the machine is.

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures_util::FutureExt as _;
use inbox::Inbox;
use tempfile::TempDir;
use tokio::process::Command;
use uuid::Uuid;

use crate::message::Order;
use crate::nothing::{self, NoStore};
use crate::report::Comparison;

const DISPATCHES: u32 = 10_000;
const REGISTRATIONS: usize = 10_000;

pub(crate) async fn run(quick: bool) -> anyhow::Result<Vec<Comparison>> {
    let rounds = if quick { 21 } else { 101 };
    let inbox = nothing::inbox().await?;
    let (mut dispatching, mut building) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let time = dispatched(&inbox, DISPATCHES).await?;
        dispatching.push(time.as_nanos() as f64 / f64::from(DISPATCHES));
        building.push(built().await?.as_secs_f64() * 1000.0);
    }
    let allocations = allocations(&inbox)?;
    let row = |case, unit, goal, values| Comparison::with_goal("core", case, unit, goal, values);
    let mut results = vec![
        row("dispatch", "ns", Some(1500.0), dispatching),
        row("dispatch", "allocations", Some(3.0), vec![allocations]),
        row("10,000 registrations", "ms", Some(5.0), building),
    ];
    if let Some(instructions) = instructions().await? {
        results.push(row("dispatch", "instructions", None, vec![instructions]));
    }
    Ok(results)
}

/// What [`instructions`] runs under callgrind: this program, asked for so many dispatches.
pub(crate) async fn dispatch(number: u32) -> anyhow::Result<()> {
    dispatched(&nothing::inbox().await?, number).await.map(drop)
}

async fn dispatched(inbox: &Inbox<NoStore>, number: u32) -> anyhow::Result<Duration> {
    let envelope = Order { id: Uuid::now_v7(), sku: 1 }.envelope();
    let start = Instant::now();
    for _ in 0..number {
        let _ = inbox.dispatch(&envelope).await?;
    }
    Ok(start.elapsed())
}

async fn built() -> anyhow::Result<Duration> {
    let registrations = nothing::registrations(REGISTRATIONS);
    let start = Instant::now();
    let inbox = nothing::inbox_of(registrations).await?;
    let time = start.elapsed();
    drop(inbox);
    Ok(time)
}

/// Of one dispatch. The event's own would come on top; this one has none.
fn allocations(inbox: &Inbox<NoStore>) -> anyhow::Result<f64> {
    let envelope = Order { id: Uuid::now_v7(), sku: 1 }.envelope();
    let mut answers = Vec::with_capacity(1000);
    let counted = allocation_counter::measure(|| {
        answers.extend((0..1000).map(|_| inbox.dispatch(&envelope).now_or_never()));
    });
    if !answers.iter().all(|answer| matches!(answer, Some(Ok(_)))) {
        bail!("a dispatch to a store that never waits has waited, or failed");
    }
    Ok(counted.count_total as f64 / answers.len() as f64)
}

/// Of one dispatch, as callgrind counts; `None` where valgrind is not installed.
async fn instructions() -> anyhow::Result<Option<f64>> {
    if Command::new("valgrind").arg("--version").output().await.is_err() {
        return Ok(None);
    }
    let folder = TempDir::new()?;
    let few = counted(folder.path(), 1000).await?;
    let many = counted(folder.path(), 3000).await?;
    Ok(Some((many - few) / 2000.0))
}

async fn counted(folder: &Path, dispatches: u32) -> anyhow::Result<f64> {
    let file = folder.join(dispatches.to_string());
    let mut option = OsStr::new("--callgrind-out-file=").to_owned();
    option.push(&file);
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(option)
        .arg(std::env::current_exe()?)
        .args(["core", "--dispatches", &dispatches.to_string()])
        .output()
        .await?;
    let text = std::fs::read_to_string(&file)
        .with_context(|| String::from_utf8_lossy(&run.stderr).into_owned())?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    Ok(total.context("callgrind told no total")?.trim().parse()?)
}
