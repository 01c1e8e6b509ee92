//! A stock service behind NATS JetStream: publishes orders, some of them twice, consumes them, and proves
//! that each took effect once.
//!
//! `cargo run --example nats` starts a throwaway server; with `--url nats://localhost` it works on yours, in
//! two streams that it deletes at the end.

mod broker;
#[path = "../brokers/service.rs"]
mod service;
#[path = "../brokers/traffic.rs"]
mod traffic;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use inbox::SubscriptionOptions;
use inbox_nats::NatsSubscription;
use test_servers::nats::NatsServer;

use crate::broker::{Broker, DURABLE, STREAM};
use crate::service::Service;
use crate::traffic::Traffic;

/// A stock service behind NATS JetStream, each order applied exactly once.
#[derive(Parser)]
struct Arguments {
    /// A server with JetStream; without one a throwaway server is started
    #[arg(long)]
    url: Option<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    service::show_what_becomes_of_each_message();
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

    let service = Service::start().await?;
    let subscription = NatsSubscription::new(broker.jetstream.clone(), STREAM, DURABLE)
        .options(SubscriptionOptions::default().workers(2).batch(5))
        .start(&service.consumer()?)
        .await?;
    let deliveries = broker.settled().await?;
    subscription.stop().await; // a service does this when it is told to end

    traffic.conclude(deliveries, broker.dead_letters().await?, service.reserved().await?)
}
