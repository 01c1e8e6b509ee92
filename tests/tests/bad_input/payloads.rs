//! Payloads that are to become an event.

use std::collections::BTreeMap;

use conformance::cases;
use inbox::{DecodeError, Envelope, IntegrationEvent};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::corpus;
use crate::input::{damaged, json, object_of};
use crate::silence::assert_silent;

/// An event of every shape that JSON is read into.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Order {
    name: String,
    quantity: u8,
    #[serde(default)]
    price: Option<f64>,
    #[serde(default)]
    kind: Option<Kind>,
    #[serde(default)]
    lines: Vec<Order>,
    #[serde(default)]
    notes: BTreeMap<String, i64>,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
pub(crate) enum Kind {
    Order(u8),
    Refund { quantity: i8 },
    Gift,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only read")]
struct Strict {
    name: char,
    a_b: (bool, u64),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind")]
#[expect(dead_code, reason = "only read")]
enum Tagged {
    Order { quantity: u32 },
    Refund(BTreeMap<String, Strict>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "only read")]
enum Untagged {
    Names(Vec<String>),
    Whole(Box<Order>),
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only read")]
struct Flat {
    #[serde(flatten)]
    rest: BTreeMap<Kind2, u8>,
}

#[derive(Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "snake_case")]
enum Kind2 {
    Quantity,
    Price,
}

impl IntegrationEvent for Order {
    const EVENT_TYPE: &'static str = "bad-input.order.v1";
    fn decode(envelope: &Envelope) -> Result<Self, DecodeError> {
        inbox::__private::decode_json(envelope)
    }
}

/// A payload for [`Order`], or nearly.
pub(crate) fn payload() -> impl Strategy<Value = Vec<u8>> {
    let name = prop_oneof![3 => Just("\"tea\"".to_owned()), 1 => json()];
    let quantity = prop_oneof![3 => any::<u8>().prop_map(|n| n.to_string()), 1 => json()];
    damaged(prop_oneof![
        3 => object_of(vec![("name", name.boxed()), ("quantity", quantity.boxed())]),
        1 => json(),
    ])
}

fn decoded_or_silent<T: DeserializeOwned>(payload: &[u8]) -> Option<T> {
    let decoded: Result<T, DecodeError> =
        inbox::__private::decode_json(&Envelope::new("1", "t", payload));
    decoded.inspect_err(|error| assert_silent(error)).ok()
}

fn check_all(payload: &[u8]) {
    let read = decoded_or_silent::<Order>(payload);
    assert_eq!(read, serde_json::from_slice(payload).ok(), "another answer than serde_json's");
    decoded_or_silent::<Strict>(payload);
    decoded_or_silent::<Tagged>(payload);
    decoded_or_silent::<Untagged>(payload);
    decoded_or_silent::<Flat>(payload);
    decoded_or_silent::<BTreeMap<u32, Kind>>(payload);
    decoded_or_silent::<(String, Kind)>(payload);
    decoded_or_silent::<serde_json::Value>(payload);
    decoded_or_silent::<()>(payload);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(400, 5_000)))]

    #[test]
    fn a_payload_is_decoded_or_refused_without_a_word_of_it(payload in payload()) {
        check_all(&payload);
    }

    #[test]
    fn an_event_that_was_written_is_decoded(quantity in any::<u8>(), price in any::<Option<f64>>()) {
        prop_assume!(price.is_none_or(f64::is_finite));
        let (name, kind) = ("a\u{0}\u{2028}\u{1f600}".to_owned(), Some(Kind::Refund { quantity: -1 }));
        let notes = BTreeMap::from([("\"\\".to_owned(), i64::MIN)]);
        let order = Order { name, quantity, price: None, kind, lines: Vec::new(), notes };
        let payload = serde_json::to_vec(&order).unwrap();
        prop_assert_eq!(decoded_or_silent::<Order>(&payload), Some(order));
    }
}

#[test]
fn the_corpus_is_decoded_or_refused() {
    for payload in corpus::odd().into_iter().chain(corpus::enormous()) {
        check_all(&payload);
    }
}
