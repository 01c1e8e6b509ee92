//! A consumer process that follows the stream of a stage, at least once, until it is killed or the
//! stream ends. `battery-follower URL DIRECT`; it says `ready` when it starts. Its own bookkeeping goes straight
//! to the server: outside of a transaction, unnamed statements do not survive a pooler.

#![expect(clippy::print_stdout, reason = "how it speaks to the test that started it")]

use std::time::Duration;

use battery::{CONSUMERS, Ledger, Message, Result, inbox_on, message};
use inbox::{Consumer, DispatchError, Inbox, Outcome};
use inbox_postgres::PgInboxStore;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::task::JoinSet;

/// Messages in flight at once, of the consumer that takes many.
const BATCH: i64 = 8;

type Store = PgInboxStore;

#[tokio::main]
async fn main() -> Result<()> {
    let [url, direct] = [1, 2].map(|nth| std::env::args().nth(nth));
    let (url, direct) = url.zip(direct).ok_or("usage: battery-follower URL DIRECT")?;
    let inboxes = PgPoolOptions::new().max_connections(12).connect(&url).await?;
    let pool = PgPoolOptions::new().max_connections(2).connect(&direct).await?;
    let inbox = inbox_on(inboxes, Ledger::default(), Duration::from_secs(10)).build().await?;
    println!("ready");
    let (one_by_one, in_batches) =
        tokio::join!(follow(&pool, &inbox, 0, 1), follow(&pool, &inbox, 1, BATCH));
    one_by_one?;
    in_batches
}

/// Takes deliveries in the stream's order, and acknowledges what was answered `Ok`.
async fn follow(pool: &PgPool, inbox: &Inbox<Store>, number: usize, batch: i64) -> Result<()> {
    let consumer = inbox.consumer(CONSUMERS[number])?;
    let mut worker = consumer.worker();
    loop {
        let deliveries = next(pool, consumer.name(), batch).await?;
        let Some((last, _)) = deliveries.last().copied() else { return Ok(()) };
        match deliveries.as_slice() {
            [(_, only)] => while !is_settled(worker.dispatch(&message(*only)).await)? {},
            many => all(&consumer, many).await?,
        }
        acknowledge(pool, consumer.name(), last).await?;
    }
}

/// Twins of one batch meet here.
async fn all(consumer: &Consumer<Store>, deliveries: &[(i64, Message)]) -> Result<()> {
    let mut running = JoinSet::new();
    for (_, delivery) in deliveries {
        let (consumer, envelope) = (consumer.clone(), message(*delivery));
        running.spawn(async move {
            while !is_settled(consumer.dispatch(&envelope).await)? {}
            Ok(())
        });
    }
    running.join_all().await.into_iter().collect()
}

/// False where it is to be delivered again. No message of the stream deserves a permanent answer.
fn is_settled(answer: Result<Outcome, DispatchError>) -> Result<bool> {
    match answer {
        Ok(Outcome::Processed | Outcome::SkippedDuplicate) => Ok(true),
        Ok(Outcome::Ignored) => Err("a message was ignored".into()),
        Err(error) if error.is_transient() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

async fn next(pool: &PgPool, consumer: &str, batch: i64) -> Result<Vec<(i64, Message)>> {
    let sql = "SELECT position, message_id, nap FROM stream \
               WHERE position > coalesce((SELECT position FROM acks WHERE consumer = $1), 0) \
               ORDER BY position LIMIT $2";
    let query = sqlx::query_as(sql).bind(consumer).bind(batch);
    let rows: Vec<(i64, uuid::Uuid, f64)> = query.fetch_all(pool).await?;
    Ok(rows.into_iter().map(|(position, id, nap)| (position, Message { id, nap })).collect())
}

async fn acknowledge(pool: &PgPool, consumer: &str, position: i64) -> Result<()> {
    let sql = "INSERT INTO acks (consumer, position) VALUES ($1, $2) \
               ON CONFLICT (consumer) DO UPDATE SET position = excluded.position";
    sqlx::query(sql).bind(consumer).bind(position).execute(pool).await?;
    Ok(())
}
