//! What is refused at the start, with its remedy.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use conformance::transport::Line;
use inbox::{DeadLettersTo, DeliveryOrder, SubscriptionOptions};
use inbox_nats::{NatsSubscription, StartError};

use crate::Nats;
use crate::store::Sqlite;

type Here = Line<Sqlite<true>, Nats>;

fn right() -> pull::Config {
    pull::Config {
        durable_name: Some("suite".to_owned()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: Duration::from_secs(30),
        max_deliver: -1,
        ..pull::Config::default()
    }
}

/// The text of what is wrong.
async fn start(config: pull::Config, options: SubscriptionOptions) -> Result<(), String> {
    let line = Here::start().await;
    line.broker.stream(&line.broker.name).await.create_consumer(config).await.unwrap();
    let subscription =
        NatsSubscription::new(line.broker.jetstream.clone(), &line.broker.name, "suite");
    match subscription.options(options).start(&line.bench.consumer()).await {
        Ok(running) => {
            running.stop().await;
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn what_would_lose_or_starve_is_refused_with_its_remedy() {
    let options = SubscriptionOptions::default;
    assert_eq!(start(right(), options()).await, Ok(()));
    for (config, options, remedy) in [
        (pull::Config { max_deliver: 5, ..right() }, options(), "Set `max_deliver` to -1"),
        (
            pull::Config { ack_wait: Duration::from_millis(100), ..right() },
            options(),
            "set it to 30 s",
        ),
        (right(), options().order(DeliveryOrder::Strict), "Set it to 1"),
        (pull::Config { headers_only: true, ..right() }, options(), "`headers_only: false`"),
    ] {
        let refused = start(config, options).await.unwrap_err();
        assert!(refused.contains(remedy), "{refused}");
    }
}

/// A stream that deletes what is acknowledged takes no other policy; so it is asked of another.
#[tokio::test]
async fn acknowledging_one_message_for_all_before_it_is_refused() {
    let line = Here::start().await;
    let config = pull::Config { ack_policy: AckPolicy::All, ..right() };
    let stream = line.broker.dead();
    line.broker.stream(&stream).await.create_consumer(config).await.unwrap();
    let subscription = NatsSubscription::new(line.broker.jetstream.clone(), &stream, "suite");
    let refused = subscription.start(&line.bench.consumer()).await.unwrap_err();
    assert!(refused.to_string().contains("`ack_policy: explicit`"), "{refused}");
}

#[tokio::test]
async fn a_limit_of_deliveries_that_our_own_comes_before_is_accepted() {
    let config = pull::Config { max_deliver: 50, ..right() };
    assert_eq!(start(config, SubscriptionOptions::default()).await, Ok(()));
}

#[tokio::test]
async fn dead_letters_that_no_stream_keeps_are_refused_unless_they_go_to_the_store() {
    let line = Here::start().await;
    line.broker.stream(&line.broker.name).await.create_consumer(right()).await.unwrap();
    let subscription = || {
        NatsSubscription::new(line.broker.jetstream.clone(), &line.broker.name, "suite")
            .dead_letter_subject("nobody.keeps.this")
    };
    let refused = subscription().start(&line.bench.consumer()).await.unwrap_err();
    assert!(matches!(refused, StartError::Refused(_)));
    assert!(refused.to_string().contains("create one for it"), "{refused}");
    let to_store = SubscriptionOptions::default().dead_letters(DeadLettersTo::Store);
    subscription().options(to_store).start(&line.bench.consumer()).await.unwrap().stop().await;
}

#[tokio::test]
async fn dead_letters_that_would_come_back_are_refused() {
    let line = Here::start().await;
    line.broker.stream(&line.broker.name).await.create_consumer(right()).await.unwrap();
    let subscription =
        NatsSubscription::new(line.broker.jetstream.clone(), &line.broker.name, "suite")
            .dead_letter_subject(format!("{}.dead", line.broker.name));
    let refused = subscription.start(&line.bench.consumer()).await.unwrap_err();
    assert!(refused.to_string().contains("its own dead letters"), "{refused}");
}

#[tokio::test]
async fn a_stream_or_a_consumer_that_is_not_there_is_told() {
    let line = Here::start().await;
    let subscription =
        |stream: &str| NatsSubscription::new(line.broker.jetstream.clone(), stream, "nobody");
    let refused = subscription("no-such-stream").start(&line.bench.consumer()).await.unwrap_err();
    assert!(refused.to_string().starts_with("looking the stream up"), "{refused}");
    let refused = subscription(&line.broker.name).start(&line.bench.consumer()).await.unwrap_err();
    assert!(refused.to_string().starts_with("looking the consumer up"), "{refused}");
}

#[tokio::test]
async fn a_stopping_inbox_starts_no_subscription() {
    let line = Here::start().await;
    line.broker.stream(&line.broker.name).await.create_consumer(right()).await.unwrap();
    line.bench.inbox.stop_handle().stop().await;
    let subscription =
        NatsSubscription::new(line.broker.jetstream.clone(), &line.broker.name, "suite");
    let refused = subscription.start(&line.bench.consumer()).await.unwrap_err();
    assert!(matches!(refused, StartError::Stopping), "{refused}");
}
