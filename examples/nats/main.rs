//! A stock service behind NATS JetStream: publishes orders, some of them twice, consumes them, and proves
//! that each took effect once.
//!
//! `cargo run --example nats` starts a throwaway server; with `--url nats://localhost` it works on yours, in
//! two streams that it deletes at the end.

mod broker;
mod traffic;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use inbox::{Inbox, SubscriptionOptions, inbox_handler, integration_event};
use inbox_nats::NatsSubscription;
use inbox_sqlite::{SqliteInboxStore, SqliteTx};
use serde::{Deserialize, Serialize};
use test_servers::nats::NatsServer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::broker::{Broker, DURABLE, STREAM};
use crate::traffic::Traffic;

const CONSUMER: &str = "stock-service";

/// A stock service behind NATS JetStream, each order applied exactly once.
#[derive(Parser)]
struct Arguments {
    /// A server with JetStream; without one a throwaway server is started
    #[arg(long)]
    url: Option<String>,
}

#[integration_event(name = "orders.order-placed.v1")]
#[derive(Deserialize, Serialize)]
pub(crate) struct OrderPlaced {
    pub(crate) sku: String,
    pub(crate) quantity: i64,
}

#[inbox_handler(consumer = "stock-service")]
async fn reserve_stock(event: OrderPlaced, mut tx: SqliteTx<'_>) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO reservations (sku, quantity) VALUES (?1, ?2)")
        .bind(event.sku)
        .bind(event.quantity)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    // The inbox's own log lines: what becomes of each message.
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).without_time();
    let inbox = Targets::new().with_target("inbox", LevelFilter::DEBUG);
    tracing_subscriber::registry().with(lines.with_target(false).with_filter(inbox)).init();
    let (_server, url) = match arguments.url {
        Some(url) => (None, url),
        None => {
            let server = NatsServer::start().await.context("name a server with --url")?;
            let url = server.url();
            (Some(server), url)
        }
    };
    let broker = Broker::connect(&url).await?;
    let is_exact = demonstrate(&broker).await;
    broker.clean_up().await?;
    Ok(if is_exact? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn demonstrate(broker: &Broker) -> anyhow::Result<bool> {
    let traffic = Traffic::new();
    traffic.publish(broker).await?;

    let store = SqliteInboxStore::in_memory().await?;
    let table = "CREATE TABLE reservations (sku TEXT NOT NULL, quantity INTEGER NOT NULL)";
    sqlx::query(table).execute(store.pool()).await?;
    let inbox = Inbox::from_registry().store(store.clone()).build().await?;
    let subscription = NatsSubscription::new(broker.jetstream.clone(), STREAM, DURABLE)
        .options(SubscriptionOptions::default().workers(2).batch(5))
        .start(&inbox.consumer(CONSUMER)?)
        .await?;
    let deliveries = broker.settled().await?;
    subscription.stop().await; // a service does this when it is told to end

    let sql = "SELECT count(*), coalesce(sum(quantity), 0) FROM reservations";
    let (reservations, pieces): (i64, i64) = sqlx::query_as(sql).fetch_one(store.pool()).await?;
    let dead = broker.dead_letters().await?;
    traffic.conclude(deliveries, dead, (reservations, pieces))
}
