//! A stock service behind RabbitMQ: publishes orders, some of them twice, consumes them, and proves that
//! each took effect once.
//!
//! `cargo run --example rabbitmq` starts a throwaway server; with `--url amqp://localhost` it works on
//! yours, in queues that it deletes at the end.

mod broker;
#[path = "../brokers/service.rs"]
mod service;
#[path = "../brokers/traffic.rs"]
mod traffic;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use inbox::SubscriptionOptions;
use inbox_amqp::AmqpSubscription;
use test_servers::rabbitmq::RabbitMq;

use crate::broker::{Broker, QUEUE};
use crate::service::Service;
use crate::traffic::Traffic;

/// A stock service behind RabbitMQ, each order applied exactly once.
#[derive(Parser)]
struct Arguments {
    /// A server; without one a throwaway server is started
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
            let server = RabbitMq::start().await.context("name a server with --url")?;
            let url = server.broker().url().to_owned();
            (Some(server), url)
        }
    };
    let broker = Broker::connect(&url).await?;
    let is_exact = demonstrate(&broker, &url).await;
    broker.clean_up().await?;
    Ok(if is_exact? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn demonstrate(broker: &Broker, url: &str) -> anyhow::Result<bool> {
    let service = Service::start().await?;
    let subscription = AmqpSubscription::new(url, QUEUE)
        .declare_queue()
        .options(SubscriptionOptions::default().workers(2).batch(5))
        .start(&service.consumer()?)
        .await?;

    let traffic = Traffic::new();
    traffic.publish(broker).await?;
    broker.until_all_is_settled(subscription.health()).await?;
    subscription.stop().await; // a service does this when it is told to end

    let (deliveries, dead) = (broker.deliveries().await?, broker.dead_letters().await?);
    traffic.conclude(deliveries, dead, service.reserved().await?)
}
