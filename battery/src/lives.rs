//! Consumers that are killed with `kill -9` wherever they are, again and again.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::Result;
use crate::books::{Books, Kind, Message};

/// Distinct messages that are published at a time.
const MESSAGES: usize = 40;
/// Deliveries that must be left for a life, so that it does not end by itself.
const ENOUGH: i64 = 200;

/// Processes that follow one stream.
#[derive(Debug)]
pub struct Lives<'a> {
    /// The program `battery-follower`.
    pub program: &'a Path,
    /// Where the books are.
    pub books: (Kind, &'a str),
    /// Where the inbox is.
    pub inbox: &'a str,
    /// How many follow at once. Sometimes all of them die together, else one.
    pub at_once: usize,
}

/// What came of them.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Tally {
    /// Deliveries that were published.
    pub deliveries: usize,
    /// Processes that were killed.
    pub kills: usize,
    /// Killings before which something had been acknowledged.
    pub kills_after_progress: usize,
    /// Processes that came to the stream's end instead.
    pub ended_first: usize,
}

impl Lives<'_> {
    /// Kills so many, looks at the database after each, and lets one come to the stream's end.
    ///
    /// # Errors
    /// A process that fails by itself, and what `look` finds.
    pub async fn run(&self, kills: usize, look: impl AsyncFn() -> Result<()>) -> Result<Tally> {
        let (mut tally, mut running) = (Tally::default(), Vec::new());
        while tally.kills < kills {
            let books = Books::open(self.books.0, self.books.1).await?;
            while books.progress().await?.1 < ENOUGH * self.at_once as i64 {
                tally.deliveries += publish(&books).await?;
            }
            let (before, _) = books.progress().await?;
            while running.len() < self.at_once {
                running.push(self.started().await?);
            }
            tokio::time::sleep(Duration::from_micros(fastrand::u64(0..300_000))).await;
            let after = books.progress().await?.0;
            books.close().await; // so that, where all die, nobody has the database open
            let dying = if fastrand::bool() { 1 } else { self.at_once };
            let killed = kill(&mut running, dying).await?;
            tally.kills += killed;
            tally.ended_first += dying - killed;
            tally.kills_after_progress += usize::from(killed > 0 && after > before);
            look().await?;
        }
        running.push(self.started().await?);
        for child in running {
            ended_well(child).await?;
        }
        Ok(tally)
    }

    async fn started(&self) -> Result<Child> {
        let kind = match self.books.0 {
            Kind::Postgres => "postgres",
            Kind::Sqlite => "sqlite",
        };
        let mut command = Command::new(self.program);
        command.args([kind, self.books.1, self.inbox]).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or("it has a stdout")?;
        let ready = BufReader::new(stdout).lines().next_line().await?;
        if ready.as_deref() != Some("ready") {
            return Err(format!("the consumer did not start: {:?}", child.wait().await?).into());
        }
        Ok(child)
    }
}

/// Those that had come to their end are not counted.
async fn kill(running: &mut Vec<Child>, count: usize) -> Result<usize> {
    let mut killed = 0;
    for _ in 0..count {
        let mut child = running.swap_remove(fastrand::usize(0..running.len()));
        match child.try_wait()? {
            Some(_) => ended_well(child).await?,
            None => {
                child.kill().await?;
                killed += 1;
            }
        }
    }
    Ok(killed)
}

async fn ended_well(mut child: Child) -> Result<()> {
    let status = child.wait().await?;
    if status.success() { Ok(()) } else { Err(format!("a consumer failed: {status}").into()) }
}

/// Each message two to four times: at once, and once more some way on.
async fn publish(books: &Books) -> Result<usize> {
    let mut deliveries: Vec<(f64, Message)> = Vec::new();
    for number in 0..MESSAGES {
        let nap = if number % 16 == 0 { 0.005 * fastrand::f64() } else { 0.0 };
        let message = Message { nap, ..Message::new() };
        deliveries.extend([(number as f64, message), (number as f64 + 0.5, message)]);
        for _ in 0..fastrand::usize(0..3) {
            deliveries.push((number as f64 + 12.0 * fastrand::f64(), message));
        }
    }
    deliveries.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let deliveries: Vec<Message> = deliveries.into_iter().map(|(_, message)| message).collect();
    books.publish(&deliveries).await?;
    Ok(deliveries.len())
}
