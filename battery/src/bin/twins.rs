//! A process that delivers each message many times at once. `battery-twins URL`; for each line `id nap`
//! that it reads it answers with a line: processed, skipped, in flight, other errors, and how often each
//! handler was started.

#![expect(clippy::print_stdout, reason = "how it speaks to the test that started it")]

use std::time::Duration;

use battery::{CONSUMERS, Ledger, Message, Result, inbox_on, message, store_on};
use inbox::{Consumer, DispatchErrorKind, Outcome};
use inbox_postgres::PgInboxStore;
use sqlx::postgres::PgPoolOptions;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::task::JoinSet;

/// Deliveries of each message, and the connections they share.
const DELIVERIES: usize = 16;
const CONNECTIONS: u32 = 4;

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).ok_or("usage: battery-twins URL")?;
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS).connect(&url).await?;
    let ledger = Ledger::default();
    let inbox = inbox_on(store_on(pool), ledger.clone(), Duration::from_secs(20));
    let inbox = inbox.claim_wait(Duration::from_millis(60)).build().await?;
    let consumer = inbox.consumer(CONSUMERS[0])?;
    println!("ready");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let (id, nap) = line.split_once(' ').ok_or("a line is `id nap`")?;
        let [processed, skipped, in_flight, other] =
            storm(&consumer, Message { id: id.parse()?, nap: nap.parse()? }).await;
        let [first, second] = ledger.take();
        println!("{processed} {skipped} {in_flight} {other} {first} {second}");
    }
    Ok(())
}

async fn storm(consumer: &Consumer<PgInboxStore>, one: Message) -> [u64; 4] {
    let mut running = JoinSet::new();
    for _ in 0..DELIVERIES {
        let (consumer, envelope) = (consumer.clone(), message(one));
        running.spawn(async move { consumer.dispatch(&envelope).await });
    }
    let mut counts = [0; 4];
    for answer in running.join_all().await {
        counts[match answer {
            Ok(Outcome::Processed) => 0,
            Ok(Outcome::SkippedDuplicate) => 1,
            Err(error) if error.kind() == DispatchErrorKind::InFlight => 2,
            Ok(_) | Err(_) => 3,
        }] += 1;
    }
    counts
}
