//! A consumer process on JetStream and PostgreSQL: `battery-subscriber URL STREAM NATS…`, until it is
//! killed, or its input ends: then it finishes what it has fetched. The databases and servers that it
//! starts among may be down.

use std::time::{Duration, Instant};

use battery::{CONSUMERS, Ledger, Result, inbox_on, store_on};
use inbox::{RetryPolicy, SubscriptionOptions};
use inbox_nats::async_nats::{self, jetstream};
use inbox_nats::{NatsSubscription, RunningNatsSubscription};
use sqlx::postgres::PgPoolOptions;
use tokio::io::AsyncReadExt as _;

/// Far longer than anything is down.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, stream, nats @ ..] = arguments.as_slice() else {
        return Err("usage: battery-subscriber URL STREAM NATS…".into());
    };
    let since = Instant::now();
    let running = loop {
        match start(url, stream, nats).await {
            Ok(running) => break running,
            Err(error) if since.elapsed() > PATIENCE => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    };
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    running.stop().await;
    Ok(())
}

async fn start(url: &str, stream: &str, nats: &[String]) -> Result<RunningNatsSubscription> {
    let pool = PgPoolOptions::new().max_connections(6).acquire_timeout(Duration::from_secs(2));
    let store = store_on(pool.connect(url).await?);
    let inbox = inbox_on(store, Ledger::default(), Duration::from_secs(10)).build().await?;
    let jetstream = jetstream::new(async_nats::connect(nats).await?);
    let retries = RetryPolicy::default().waits(Duration::from_millis(200), Duration::from_secs(5));
    let options = SubscriptionOptions::default().workers(4).batch(20).retries(retries);
    let subscription = NatsSubscription::new(jetstream, stream, CONSUMERS[0]).options(options);
    Ok(subscription.start(&inbox.consumer(CONSUMERS[0])?).await?)
}
