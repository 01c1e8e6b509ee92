//! What happened, as the producers know it: the other side of the wire.

/// An order event before it became a message.
#[derive(Clone, Debug)]
pub(crate) enum Fact {
    Received { sku: String, quantity: i64 },
    Placed { order_id: String, sku: String, quantity: i64 },
    Cancelled { order_id: String },
}

impl Fact {
    pub(crate) fn event_type(&self) -> &'static str {
        match self {
            Fact::Received { .. } => "stock.received.v1",
            Fact::Placed { .. } => "orders.order-placed.v1",
            Fact::Cancelled { .. } => "orders.order-cancelled.v1",
        }
    }

    pub(crate) fn order_id(&self) -> Option<String> {
        match self {
            Fact::Received { .. } => None,
            Fact::Placed { order_id, .. } | Fact::Cancelled { order_id } => Some(order_id.clone()),
        }
    }

    /// What it is about, for a row on the screen.
    pub(crate) fn subject(&self) -> String {
        match self {
            Fact::Received { sku, quantity } => format!("{quantity} {sku}"),
            Fact::Placed { order_id, sku, quantity } => format!("{order_id}: {quantity} {sku}"),
            Fact::Cancelled { order_id } => order_id.clone(),
        }
    }
}
