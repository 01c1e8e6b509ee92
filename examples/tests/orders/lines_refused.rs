//! Lines that are not applied: reported with number and reason, counted, and the others go on.

use serde_json::json;

use crate::input::{cancelled, event, placed, received};
use crate::program::apply;

const RECEIVED: &str = "stock.received.v1";
const PLACED: &str = "orders.order-placed.v1";
const CANCELLED: &str = "orders.order-cancelled.v1";

/// Applies `line` between two good ones and answers its counts (failed, rejected) and its reason.
fn between_good_ones(line: &[u8]) -> ([u64; 2], String) {
    let mut input = received("first", "good", 1).into_bytes();
    for part in [&b"\n"[..], line, b"\n", received("last", "good", 1).as_bytes()] {
        input.extend_from_slice(part);
    }
    let ended = apply(input, None);
    let [delivered, processed, skipped, failed, rejected] = ended.counts();
    assert_eq!((delivered, processed, skipped), (3, 2, 0), "the others go on: {ended:?}");
    assert_eq!(ended.code, Some(1));
    let problems = ended.problems();
    assert_eq!((problems.len(), problems[0].0), (1, 2), "{ended:?}");
    ([failed, rejected], problems[0].1.to_owned())
}

#[track_caller]
fn is_rejected(line: impl AsRef<[u8]>, reason: &str) {
    let (counts, told) = between_good_ones(line.as_ref());
    assert_eq!(counts, [0, 1], "{told}");
    assert!(told.contains(reason), "{told}");
}

#[test]
fn what_is_no_cloud_event_is_rejected() {
    is_rejected("tea", "not valid JSON");
    is_rejected("{\"specversion\": \"1.0\"", "ends too early");
    is_rejected("[]", "not an object");
    is_rejected("7", "not an object");
    is_rejected("{}", "the specversion is missing");
    is_rejected(format!("{0}{0}", received("1", "tea", 1)), "not valid JSON");
    is_rejected(b"\xff\xfe", "not UTF-8 (byte 1)");
    is_rejected(received("1", "tea", 1).replace("1.0", "0.3"), "specversion");
}

#[test]
fn a_missing_blank_or_wrong_attribute_is_rejected_by_its_name() {
    for name in ["specversion", "id", "source", "type"] {
        let whole: serde_json::Value = serde_json::from_str(&received("1", "tea", 1)).unwrap();
        let with = |value: serde_json::Value| {
            let mut event = whole.clone();
            event[name] = value;
            event.to_string()
        };
        let mut without = whole.clone();
        without.as_object_mut().unwrap().remove(name);
        is_rejected(without.to_string(), &format!("the {name} is missing"));
        is_rejected(with(json!(null)), &format!("the {name} is missing"));
        is_rejected(with(json!("")), &format!("the {name} is blank"));
        is_rejected(with(json!(" \t")), &format!("the {name} is blank"));
        is_rejected(with(json!(17)), &format!("the {name} is not a JSON string"));
    }
    is_rejected(received("00000000-0000-0000-0000-000000000000", "tea", 1), "nil UUID");
    is_rejected(received(&"x".repeat(1025), "tea", 1), "message id is longer than 1,024 bytes");
}

#[test]
fn an_unknown_type_is_rejected_and_the_known_ones_are_named() {
    let line = event("1", "stock.lost.v1", json!({ "sku": "tea", "quantity": 1 }));
    is_rejected(&line, "stock.received.v1");
    is_rejected(&line, "orders.order-placed.v1");
    is_rejected(&line, "orders.order-cancelled.v1");
}

#[test]
fn a_missing_field_is_rejected_by_its_name() {
    is_rejected(event("1", RECEIVED, json!({ "quantity": 1 })), "missing field `sku`");
    is_rejected(event("1", RECEIVED, json!({ "sku": "tea" })), "missing field `quantity`");
    let data = json!({ "sku": "tea", "quantity": 1 });
    is_rejected(event("1", PLACED, data), "missing field `order_id`");
    is_rejected(
        event("1", PLACED, json!({ "order_id": "a", "quantity": 1 })),
        "missing field `sku`",
    );
    is_rejected(
        event("1", PLACED, json!({ "order_id": "a", "sku": "tea" })),
        "missing field `quantity`",
    );
    is_rejected(event("1", CANCELLED, json!({})), "missing field `order_id`");
    let whole = json!({ "specversion": "1.0", "id": "1", "source": "/shop", "type": CANCELLED });
    is_rejected(whole.to_string(), "payload is empty");
}

#[test]
fn a_quantity_that_is_no_positive_integer_is_rejected() {
    for quantity in
        ["0", "-1", "1.5", "\"3\"", "null", "true", "[1]", "1e400", "99999999999999999999", "NaN"]
    {
        let line =
            received("1", "tea", 1).replace("\"quantity\":1", &format!("\"quantity\":{quantity}"));
        let (counts, told) = between_good_ones(line.as_bytes());
        assert_eq!(counts, [0, 1], "{quantity}: {told}");
    }
    is_rejected(placed("1", "a", "good", 0), "at `quantity`");
}

#[test]
fn a_sku_or_order_id_that_is_no_text_is_rejected() {
    for value in [json!(7), json!(null), json!(""), json!("  "), json!(["tea"]), json!({})] {
        let data = json!({ "sku": value, "quantity": 1 });
        is_rejected(event("1", RECEIVED, data), "at `sku`");
        let data = json!({ "order_id": value, "sku": "good", "quantity": 1 });
        is_rejected(event("1", PLACED, data), "at `order_id`");
        is_rejected(event("1", CANCELLED, json!({ "order_id": value })), "at `order_id`");
    }
}

#[test]
fn what_the_stock_does_not_allow_fails() {
    let fails = |line: String, reason: &str| {
        let (counts, told) = between_good_ones(line.as_bytes());
        assert_eq!(counts, [1, 0], "{told}");
        assert!(told.contains(reason), "{told}");
    };
    fails(placed("1", "a", "good", 2), "handler `reserve_stock` failed: there is less in stock");
    fails(placed("1", "a", "unknown", 1), "there is less in stock");
    fails(cancelled("1", "nobody"), "handler `release_stock` failed: no order with this order_id");
    fails(received("1", "good", i64::MAX), "handler `receive_stock` failed");
}

#[test]
fn an_order_is_placed_once_and_cancelled_once() {
    let lines = [
        received("1", "tea", 9),
        placed("2", "a", "tea", 1),
        placed("3", "a", "tea", 1), // fails
        cancelled("4", "a"),
        cancelled("5", "a"),        // fails
        placed("6", "a", "tea", 1), // fails: cancelled is not forgotten
    ];
    let ended = apply(lines.join("\n"), None);
    assert_eq!(ended.counts(), [6, 3, 0, 3, 0]);
    let [twice, cancelled_twice, after] = ended.problems()[..] else { panic!("{ended:?}") };
    assert_eq!([twice.0, cancelled_twice.0, after.0], [3, 5, 6]);
    assert!(twice.1.ends_with("an order with this order_id was placed before"), "{twice:?}");
    assert!(cancelled_twice.1.ends_with("unknown or already cancelled"), "{cancelled_twice:?}");
}

#[test]
fn a_known_id_with_another_type_is_rejected_and_not_skipped() {
    let ended = apply([received("1", "tea", 9), placed("1", "a", "tea", 1)].join("\n"), None);
    assert_eq!((ended.code, ended.counts()), (Some(1), [2, 1, 0, 0, 1]));
    let problems = ended.problems();
    assert!(problems[0].1.contains("used before with another event type"), "{problems:?}");
}

#[test]
fn no_report_shows_a_value_from_a_payload() {
    let secret = "4111-1111";
    let lines = [
        received("1", "tea", 1),
        placed("2", secret, secret, 1),
        cancelled("3", secret),
        event("4", RECEIVED, json!({ "sku": "tea", "quantity": secret })),
        event("5", RECEIVED, json!(secret)),
        event("6", PLACED, json!({ secret: 1 })),
        format!("{{\"id\": \"{secret}"),
        secret.to_owned(),
    ];
    let ended = apply(lines.join("\n"), None);
    assert_eq!(ended.counts(), [8, 1, 0, 2, 5]);
    assert!(!ended.stderr.contains("4111"), "{}", ended.stderr);
}
