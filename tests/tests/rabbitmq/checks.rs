//! What is refused at the start, with its remedy.

use conformance::transport::{Broker, Line};
use inbox::{DeadLettersTo, DeliveryOrder, RetryPolicy, SubscriptionOptions};
use inbox_amqp::lapin::options::QueueDeclareOptions;
use inbox_amqp::lapin::types::AMQPValue;
use inbox_amqp::{AmqpSubscription, StartError};

use crate::store::Sqlite;
use crate::{Rabbit, right, table, text};

type Here = Line<Sqlite<true>, Rabbit>;
type Arguments = Vec<(&'static str, AMQPValue)>;

const DURABLE: QueueDeclareOptions = QueueDeclareOptions {
    passive: false,
    durable: true,
    exclusive: false,
    auto_delete: false,
    nowait: false,
};

/// The text of what is wrong with a queue that was declared so.
async fn start(
    declared: QueueDeclareOptions,
    arguments: Arguments,
    change: impl FnOnce(AmqpSubscription) -> AmqpSubscription,
) -> Result<(), String> {
    let line = Here::start().await;
    let rabbit = &line.broker;
    let channel = rabbit.channel().await;
    let queue = rabbit.queue.as_str().into();
    channel.queue_declare(queue, declared, table(&arguments)).await.unwrap();
    match change(rabbit.subscription()).start(&line.bench.consumer()).await {
        Ok(running) => {
            running.stop().await;
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn quorum(others: Arguments) -> Arguments {
    [vec![("x-queue-type", text("quorum"))], others].concat()
}

fn limit(limit: i32) -> (&'static str, AMQPValue) {
    ("x-delivery-limit", AMQPValue::LongInt(limit))
}

fn with_dead_letters() -> (&'static str, AMQPValue) {
    ("x-dead-letter-exchange", text("amq.fanout"))
}

fn unchanged(subscription: AmqpSubscription) -> AmqpSubscription {
    subscription
}

#[tokio::test]
async fn a_queue_that_would_lose_messages_is_refused_with_its_remedy() {
    let transient = QueueDeclareOptions { durable: false, ..DURABLE };
    let fleeting = QueueDeclareOptions { auto_delete: true, ..DURABLE };
    for (declared, arguments, remedy) in [
        (transient, vec![], "Declare it durable"),
        (fleeting, vec![], "declare it without"),
        (DURABLE, vec![("x-queue-type", text("stream"))], "declare a quorum queue"),
        (DURABLE, quorum(vec![]), "a limit of 20"),
        (DURABLE, quorum(vec![limit(3)]), "at its redelivery number 4"),
        (DURABLE, quorum(vec![limit(-1), with_dead_letters()]), "at its first redelivery"),
        (DURABLE, quorum(vec![limit(10), with_dead_letters()]), "that were never tried"),
    ] {
        let refused = start(declared, arguments, unchanged).await.expect_err(remedy);
        assert!(refused.contains(remedy), "{remedy}: {refused}");
    }
}

#[tokio::test]
async fn a_queue_that_keeps_its_messages_is_accepted() {
    let others = vec![
        ("x-max-length", AMQPValue::LongInt(1_000_000)),
        ("x-message-ttl", AMQPValue::LongInt(1_000_000)),
        limit(20),
        with_dead_letters(),
        ("x-dead-letter-routing-key", text("it's")),
        ("x-single-active-consumer", AMQPValue::Boolean(true)),
    ];
    for arguments in [
        quorum(vec![limit(i32::MAX)]),
        quorum(vec![with_dead_letters()]),
        quorum(others),
        vec![("x-max-priority", AMQPValue::LongInt(5))],
    ] {
        assert_eq!(start(DURABLE, arguments, unchanged).await, Ok(()));
    }
}

#[tokio::test]
async fn a_limit_that_the_application_answers_for_is_accepted() {
    let accepted = AmqpSubscription::accept_delivery_limit;
    for arguments in [quorum(vec![]), quorum(vec![limit(3)])] {
        assert_eq!(start(DURABLE, arguments, accepted).await, Ok(()));
    }
}

#[tokio::test]
async fn a_limit_is_too_low_where_the_attempts_have_none() {
    let endless = |subscription: AmqpSubscription| {
        let retries = RetryPolicy::default().attempts_without_end();
        subscription.options(SubscriptionOptions::default().retries(retries))
    };
    let arguments = quorum(vec![limit(500), with_dead_letters()]);
    let refused = start(DURABLE, arguments, endless).await.unwrap_err();
    assert!(refused.contains("the retry policy here has no limit"), "{refused}");
}

#[tokio::test]
async fn strict_order_asks_for_a_single_active_consumer() {
    let strict = |subscription: AmqpSubscription| {
        subscription.options(SubscriptionOptions::default().order(DeliveryOrder::Strict))
    };
    let refused = start(DURABLE, right(false).to_vec(), strict).await.unwrap_err();
    assert!(refused.contains("`x-single-active-consumer` true"), "{refused}");
    assert_eq!(start(DURABLE, right(true).to_vec(), strict).await, Ok(()));
}

#[tokio::test]
async fn a_queue_that_is_missing_is_told_and_declared_where_that_is_wanted() {
    let line = Here::start().await;
    let consumer = line.bench.consumer();
    let subscription = || line.broker.subscription();
    let refused = subscription().start(&consumer).await.unwrap_err();
    assert!(refused.to_string().contains("`declare_queue`"), "{refused}");
    let strict = SubscriptionOptions::default().order(DeliveryOrder::Strict);
    let declaring = subscription().declare_queue().options(strict.clone());
    declaring.clone().start(&consumer).await.unwrap().stop().await;
    // What was declared is found to be right; and its dead letters are where they are expected.
    subscription().options(strict).start(&consumer).await.unwrap().stop().await;
    declaring.start(&consumer).await.unwrap().stop().await;
    line.broker.dead_letters().await;
    assert_eq!(line.broker.ready(&format!("{}.dead", line.broker.queue)).await, 0);
}

#[tokio::test]
async fn what_is_rejected_by_hand_goes_to_the_dead_letters() {
    let line = Here::start().await;
    let consumer = line.bench.consumer();
    line.broker.subscription().declare_queue().start(&consumer).await.unwrap().stop().await;
    line.broker.send_to(&line.broker.queue, Default::default(), b"{}").await;
    let channel = line.broker.channel().await;
    let got = channel.basic_get(line.broker.queue.as_str().into(), Default::default()).await;
    got.unwrap().unwrap().reject(Default::default()).await.unwrap();
    let dead = format!("{}.dead", line.broker.queue);
    line.until("it is there", async || line.broker.ready(&dead).await == 1).await;
}

#[tokio::test]
async fn names_that_cannot_be_are_refused() {
    let line = Here::start().await;
    let consumer = line.bench.consumer();
    let url = line.broker.broker.url();
    let twice = AmqpSubscription::new(url, "q").dead_letter_queue("q");
    let refused = twice.start(&consumer).await.unwrap_err();
    assert!(refused.to_string().contains("`dead_letter_queue`"), "{refused}");
    let long = AmqpSubscription::new(url, "q".repeat(300));
    assert!(matches!(long.start(&consumer).await.unwrap_err(), StartError::Refused(_)));
}

#[tokio::test]
async fn what_is_told_of_an_address_holds_no_password() {
    let line = Here::start().await;
    for address in ["amqp://user:secret@[", "http://user:secret@localhost"] {
        let subscription = AmqpSubscription::new(address, "q");
        assert!(!format!("{subscription:?}").contains("secret"));
        let refused = subscription.start(&line.bench.consumer()).await.unwrap_err();
        assert!(refused.to_string().contains("address cannot be read"), "{refused}");
        assert!(!refused.to_string().contains("secret"));
    }
    let unreachable = AmqpSubscription::new("amqp://user:secret@127.0.0.1:1", "q");
    let refused = unreachable.start(&line.bench.consumer()).await.unwrap_err();
    assert!(refused.to_string().starts_with("connecting: "), "{refused}");
    assert!(!format!("{refused} {refused:?}").contains("secret"));
}

#[tokio::test]
async fn a_stopping_inbox_starts_no_subscription() {
    let line = Here::start().await;
    line.broker.begin(&right(false)).await;
    line.bench.inbox.stop_handle().stop().await;
    let to_store = SubscriptionOptions::default().dead_letters(DeadLettersTo::Store);
    let subscription = line.broker.subscription().options(to_store);
    let refused = subscription.start(&line.bench.consumer()).await.unwrap_err();
    assert!(matches!(refused, StartError::Stopping), "{refused}");
    let dead = format!("{}.dead", line.broker.queue);
    assert!(!line.broker.is_there(&dead).await, "nobody needs it");
}
