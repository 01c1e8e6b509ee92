use lapin::BasicProperties;
use lapin::types::FieldTable;

use super::*;

fn message(properties: BasicProperties, redelivered: bool) -> Delivery {
    let (exchange, key) = ("events".into(), "orders".into());
    let message = Delivery::mock(1, exchange, key, redelivered, b"{}".to_vec());
    Delivery { properties, ..message }
}

fn with_headers(headers: &[(&str, AMQPValue)]) -> BasicProperties {
    let mut table = FieldTable::default();
    for (name, value) in headers {
        table.insert((*name).into(), value.clone());
    }
    BasicProperties::default().with_headers(table)
}

fn text_value(text: &str) -> AMQPValue {
    AMQPValue::LongString(text.into())
}

fn read(properties: BasicProperties) -> (Envelope, Option<InvalidEnvelope>) {
    super::read(&message(properties, false), Some("named"))
}

#[test]
fn attributes_are_read_with_both_prefixes_and_win_over_properties() {
    for prefix in ["cloudEvents:", "cloudEvents_"] {
        let attributes = [
            ("id", "17"),
            ("type", "stock.received.v1"),
            ("source", "/shop"),
            ("partitionkey", "k"),
        ];
        let attributes = attributes.map(|(name, value)| (format!("{prefix}{name}"), value));
        let mut headers: Vec<(&str, AMQPValue)> =
            attributes.iter().map(|(name, value)| (name.as_str(), text_value(value))).collect();
        headers.push(("tenant", AMQPValue::LongInt(7)));
        headers.push(("x-death", AMQPValue::FieldArray(Default::default())));
        let properties =
            with_headers(&headers).with_message_id("m-1".into()).with_type("other".into());
        let (envelope, problem) = read(properties.with_app_id("app".into()));
        assert!(problem.is_none());
        assert_eq!(envelope.event_type(), "stock.received.v1");
        assert_eq!((envelope.source(), envelope.ordering_key()), (Some("/shop"), Some("k")));
        let headers: Vec<(&str, &str)> = envelope.headers().iter().collect();
        assert_eq!(headers, [("tenant", "7")]);
    }
}

#[test]
fn without_attributes_the_properties_are_read() {
    let properties = BasicProperties::default()
        .with_type("stock.received.v1".into())
        .with_content_type("application/json".into())
        .with_correlation_id("c".into())
        .with_timestamp(17);
    let (envelope, _) = read(properties.clone());
    assert_eq!(envelope.event_type(), "stock.received.v1");
    assert_eq!(envelope.content_type(), Some("application/json"));
    assert_eq!(envelope.correlation_id(), Some("c"));
    assert_eq!(envelope.occurred_at().map(OffsetDateTime::unix_timestamp), Some(17));
    assert_eq!(envelope.source(), Some("named"));
    let (envelope, _) = read(properties.with_app_id("shop".into()).with_timestamp(u64::MAX));
    assert_eq!((envelope.source(), envelope.occurred_at()), (Some("shop"), None));
}

#[test]
fn what_is_no_cloud_event_though_it_says_so_keeps_its_payload() {
    for content_type in ["application/cloudevents+json", "application/cloudevents-batch+json"] {
        let (envelope, problem) =
            read(BasicProperties::default().with_content_type(content_type.into()));
        assert!(problem.is_some());
        assert_eq!(envelope.payload(), b"{}");
    }
}

#[test]
fn deliveries_are_counted_over_retry_queues_and_redeliveries() {
    let count = |name, count| (name, AMQPValue::LongLongInt(count));
    let deaths = |counts: &[i64]| {
        let death = |count: &i64| {
            AMQPValue::from(
                with_headers(&[("count", AMQPValue::LongLongInt(*count))])
                    .headers()
                    .clone()
                    .unwrap_or_default(),
            )
        };
        ("x-death", AMQPValue::FieldArray(counts.iter().map(death).collect::<Vec<_>>().into()))
    };
    for (headers, redelivered, expected) in [
        (vec![], false, 1),
        (vec![], true, 2),
        (vec![count("x-delivery-count", 1)], true, 2),
        (vec![count("x-delivery-count", 4)], true, 5),
        (vec![count("inbox-deliveries", 3)], false, 4),
        (vec![count("inbox-deliveries", 3), deaths(&[1])], false, 4),
        (vec![count("inbox-deliveries", 3), deaths(&[1]), count("x-delivery-count", 2)], true, 6),
        (vec![deaths(&[1, 2])], false, 4),
        (vec![("x-death", text_value("?")), count("inbox-deliveries", -1)], false, 1),
        (vec![count("inbox-deliveries", i64::MAX)], true, u32::MAX),
    ] {
        let message = message(with_headers(&headers), redelivered);
        assert_eq!(headers::delivery_number(&message), expected, "{headers:?}");
    }
}
