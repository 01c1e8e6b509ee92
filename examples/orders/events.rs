//! What the shop and the warehouse publish. A payload that does not decode never reaches a handler.

use inbox::integration_event;
use serde::Deserialize;

/// Pieces arrived in the warehouse.
#[integration_event(name = "stock.received.v1")]
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct StockReceived {
    pub(crate) sku: Key,
    pub(crate) quantity: Quantity,
}

/// A customer placed an order.
#[integration_event(name = "orders.order-placed.v1")]
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct OrderPlaced {
    pub(crate) order_id: Key,
    pub(crate) sku: Key,
    pub(crate) quantity: Quantity,
}

/// A customer cancelled an order.
#[integration_event(name = "orders.order-cancelled.v1")]
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct OrderCancelled {
    pub(crate) order_id: Key,
}

/// What a row is known by, a sku or an order id: any text that is not blank.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Key(String);

impl Key {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Key {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.trim().is_empty() { Err("blank") } else { Ok(Self(text)) }
    }
}

/// How many pieces: at least one.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "i64")]
pub(crate) struct Quantity(i64);

impl Quantity {
    pub(crate) fn get(self) -> i64 {
        self.0
    }
}

impl TryFrom<i64> for Quantity {
    type Error = &'static str;

    fn try_from(pieces: i64) -> Result<Self, Self::Error> {
        if pieces > 0 { Ok(Self(pieces)) } else { Err("not positive") }
    }
}
