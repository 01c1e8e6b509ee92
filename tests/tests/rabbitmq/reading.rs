//! How a message is read into an envelope, and what it keeps on its way through a retry queue.

use conformance::transport::{Line, Subscribed, id_text};
use conformance::{COMMAND, End, envelope};
use inbox::RetryPolicy;
use inbox_amqp::lapin::BasicProperties;
use inbox_amqp::lapin::options::BasicGetOptions;
use inbox_amqp::lapin::types::AMQPValue;

use crate::store::Sqlite;
use crate::{Rabbit, in_headers, right, table, text};

type Here = Line<Sqlite<true>, Rabbit>;

async fn settle(line: &Here) {
    let running = line.subscribe(Here::options()).await;
    line.settled().await;
    running.stop().await;
}

#[tokio::test]
async fn a_structured_cloud_event_is_read() {
    let line = Here::start().await;
    let message = envelope([End::Ok]).with_source("https://shop.example");
    let content_type = "application/cloudevents+json; charset=utf-8";
    let properties = BasicProperties::default().with_content_type(content_type.into());
    let event = message.to_cloud_event_json().unwrap();
    line.broker.send(properties, event.as_bytes()).await;
    settle(&line).await;
    line.assert_each_once(&[message]).await;
}

#[tokio::test]
async fn without_attributes_the_id_and_the_type_are_the_properties() {
    let line = Here::start().await;
    let message = envelope([End::Ok]);
    let properties = BasicProperties::default()
        .with_message_id(id_text(&message).unwrap().into())
        .with_type(COMMAND.into());
    line.broker.send(properties, message.payload()).await;
    settle(&line).await;
    line.assert_each_once(&[message]).await;
}

#[tokio::test]
async fn a_text_id_needs_a_source_which_the_application_may_name() {
    for (named, letters) in [(true, 0), (false, 1)] {
        let line = Here::start().await;
        let properties =
            || BasicProperties::default().with_message_id("17".into()).with_type(COMMAND.into());
        let payload = envelope([End::Ok]).payload().to_vec();
        line.broker.send(properties(), &payload).await;
        line.broker.send(properties().with_app_id("shop".into()), &payload).await;
        line.broker.begin(&right(false)).await;
        let subscription = line.broker.subscription().options(Here::options());
        let subscription = if named { subscription.source("bakery") } else { subscription };
        let running = subscription.start(&line.bench.consumer()).await.unwrap();
        line.settled().await;
        running.stop().await;
        line.letters(letters).await;
        assert_eq!(line.bench.probe.starts() as usize, 2 - letters, "17 of two sources");
    }
}

#[tokio::test]
async fn a_message_keeps_what_it_has_through_retries_and_as_a_dead_letter() {
    let line = Here::start().await;
    line.broker.begin(&right(false)).await;
    let others = format!("{}.others", line.broker.queue);
    line.broker.declare(&others, &right(false)).await;
    let message = envelope([End::Error]);
    let mut headers = in_headers(&message).headers().clone().unwrap();
    headers.insert("traceparent".into(), text("00-1"));
    headers.insert("CC".into(), AMQPValue::FieldArray(vec![text(&others)].into()));
    // As of a message that left our queue once before, and was put back by hand.
    let death = table(&[
        ("queue", text(&line.broker.queue)),
        ("reason", text("expired")),
        ("count", AMQPValue::LongLongInt(1)),
        ("exchange", text("")),
        ("routing-keys", AMQPValue::FieldArray(vec![text(&line.broker.queue)].into())),
    ]);
    headers.insert("x-death".into(), AMQPValue::FieldArray(vec![death.into()].into()));
    headers.insert("x-delivery-count".into(), AMQPValue::LongLongInt(99));
    let sent = BasicProperties::default()
        .with_headers(headers)
        .with_message_id("m-1".into())
        .with_user_id("guest".into())
        .with_expiration("60000".into())
        .with_priority(3)
        .with_timestamp(17)
        .with_app_id("shop".into());
    line.broker.send(sent, message.payload()).await;
    let options = Here::options().retries(RetryPolicy::default().attempts(2));
    let running = line.subscribe(options).await;
    line.letters(1).await;
    line.settled().await;
    running.stop().await;
    assert_eq!(line.broker.ready(&others).await, 1, "a retry was sent to others too");
    let channel = line.broker.channel().await;
    let dead = format!("{}.dead", line.broker.queue);
    let got = channel.basic_get(dead.as_str().into(), BasicGetOptions::default()).await;
    let letter = got.unwrap().unwrap().delivery;
    assert_eq!(letter.data, message.payload());
    let kept = &letter.properties;
    assert_eq!(kept.message_id().as_ref().unwrap().as_str(), "m-1");
    assert_eq!(kept.app_id().as_ref().unwrap().as_str(), "shop");
    assert_eq!((kept.priority(), kept.timestamp()), (&Some(3), &Some(17)));
    assert_eq!(*kept.expiration(), None, "a dead letter would be gone");
    let headers = kept.headers().as_ref().unwrap().inner();
    assert_eq!(headers.get("traceparent"), Some(&text("00-1")));
    assert_eq!(headers.get("inbox-routing-key"), Some(&text(&line.broker.queue)));
    assert!(!headers.contains_key("x-death"));
}
