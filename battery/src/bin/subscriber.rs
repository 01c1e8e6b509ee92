//! A consumer process on a broker and PostgreSQL: `battery-subscriber URL nats STREAM SERVER…` or
//! `battery-subscriber URL rabbitmq QUEUE ADDRESS`, until it is killed, or its input ends: then it finishes what
//! it has fetched. The databases and servers that it starts among may be down.

use std::time::{Duration, Instant};

use battery::{CONSUMERS, Ledger, Result, inbox_on, store_on};
use inbox::{RetryPolicy, RunningSubscription, SubscriptionOptions};
use inbox_amqp::AmqpSubscription;
use inbox_nats::NatsSubscription;
use inbox_nats::async_nats::{self, jetstream};
use sqlx::postgres::PgPoolOptions;
use tokio::io::AsyncReadExt as _;

/// Far longer than anything is down.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let since = Instant::now();
    let running = loop {
        match start(&arguments).await {
            Ok(running) => break running,
            Err(error) if since.elapsed() > PATIENCE => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    };
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    running.stop().await;
    Ok(())
}

async fn start(arguments: &[&str]) -> Result<RunningSubscription> {
    let [url, broker, name, addresses @ ..] = arguments else { return Err("what?".into()) };
    let pool = PgPoolOptions::new().max_connections(6).acquire_timeout(Duration::from_secs(2));
    let store = store_on(pool.connect(url).await?);
    let inbox = inbox_on(store, Ledger::default(), Duration::from_secs(10)).build().await?;
    let consumer = inbox.consumer(CONSUMERS[0])?;
    let retries = RetryPolicy::default().waits(Duration::from_millis(200), Duration::from_secs(5));
    let options = SubscriptionOptions::default().workers(4).batch(20).retries(retries);
    Ok(match (*broker, addresses) {
        ("rabbitmq", [address]) => {
            AmqpSubscription::new(*address, *name).options(options).start(&consumer).await?
        }
        ("nats", addresses) => {
            let jetstream = jetstream::new(async_nats::connect(addresses).await?);
            let subscription = NatsSubscription::new(jetstream, *name, CONSUMERS[0]);
            subscription.options(options).start(&consumer).await?
        }
        _ => return Err("it knows NATS, and one RabbitMQ".into()),
    })
}
