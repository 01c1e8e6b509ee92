//! A consumer process that follows the stream of a database, at least once, until it is killed or the
//! stream ends. `battery-follower postgres DIRECT URL` or `battery-follower sqlite URL PATH`: where the
//! books are, and where the inbox; it says `ready` when it starts. On PostgreSQL the books are reached
//! straight at the server: outside of a transaction, unnamed statements do not survive a pooler.

#![expect(clippy::print_stdout, reason = "how it speaks to the test that started it")]

use std::time::Duration;

use battery::{
    Books, CONSUMERS, Effects, Kind, Ledger, Message, Result, inbox_on, message, store_on,
};
use inbox::{Consumer, DispatchError, Outcome};
use inbox_sqlite::SqliteInboxStore;
use sqlx::postgres::PgPoolOptions;
use tokio::task::JoinSet;

/// Messages in flight at once, of the consumer that takes many.
const BATCH: i64 = 8;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["postgres", direct, url] => {
            let pool = PgPoolOptions::new().max_connections(12).connect(url).await?;
            follow_all(Books::open(Kind::Postgres, direct).await?, store_on(pool)).await
        }
        ["sqlite", url, path] => {
            let store = SqliteInboxStore::open(path).await?;
            follow_all(Books::open(Kind::Sqlite, url).await?, store).await
        }
        _ => Err("usage: battery-follower postgres DIRECT URL, or sqlite URL PATH".into()),
    }
}

async fn follow_all<S: Effects>(books: Books, store: S) -> Result<()> {
    let inbox = inbox_on(store, Ledger::default(), Duration::from_secs(10)).build().await?;
    println!("ready");
    let [first, second] = [inbox.consumer(CONSUMERS[0])?, inbox.consumer(CONSUMERS[1])?];
    let (one_by_one, in_batches) =
        tokio::join!(follow(&books, first, 1), follow(&books, second, BATCH));
    one_by_one?;
    in_batches
}

/// Takes deliveries in the stream's order, and acknowledges what was answered `Ok`.
async fn follow<S: Effects>(books: &Books, consumer: Consumer<S>, most: i64) -> Result<()> {
    let mut worker = consumer.worker();
    loop {
        let deliveries = books.next(consumer.name(), most).await?;
        let Some((last, _)) = deliveries.last().copied() else { return Ok(()) };
        match deliveries.as_slice() {
            [(_, only)] => while !is_settled(worker.dispatch(&message(*only)).await)? {},
            many => all(&consumer, many).await?,
        }
        books.acknowledge(consumer.name(), last).await?;
    }
}

/// Twins of one batch meet here.
async fn all<S: Effects>(consumer: &Consumer<S>, deliveries: &[(i64, Message)]) -> Result<()> {
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
