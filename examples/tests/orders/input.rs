//! Lines to feed the program with.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Value, json};

pub(crate) fn event(id: &str, event_type: &str, data: Value) -> String {
    let event = json!({
        "specversion": "1.0",
        "id": id,
        "source": "/shop",
        "type": event_type,
        "time": "2026-01-02T03:04:05Z",
        "data": data,
    });
    event.to_string()
}

pub(crate) fn received(id: &str, sku: &str, quantity: i64) -> String {
    event(id, "stock.received.v1", json!({ "sku": sku, "quantity": quantity }))
}

pub(crate) fn placed(id: &str, order_id: &str, sku: &str, quantity: i64) -> String {
    let data = json!({ "order_id": order_id, "sku": sku, "quantity": quantity });
    event(id, "orders.order-placed.v1", data)
}

pub(crate) fn cancelled(id: &str, order_id: &str) -> String {
    event(id, "orders.order-cancelled.v1", json!({ "order_id": order_id }))
}

/// A stream whose lines all succeed, and what its distinct events leave.
pub(crate) struct Stream {
    pub(crate) lines: Vec<String>,
    pub(crate) duplicates: usize,
    stock: BTreeMap<String, (i64, i64)>,
    orders: BTreeMap<String, (String, i64, &'static str)>,
}

impl Stream {
    /// `length` lines, some 30% of them duplicates of an earlier one.
    pub(crate) fn generate(length: usize, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let (stock, orders) = (BTreeMap::new(), BTreeMap::new());
        let mut stream = Self { lines: Vec::new(), duplicates: 0, stock, orders };
        while stream.lines.len() < length {
            if !stream.lines.is_empty() && rng.u8(..10) < 3 {
                let again = stream.lines[rng.usize(..stream.lines.len())].clone();
                stream.lines.push(again);
                stream.duplicates += 1;
            } else {
                let id = format!("evt-{}", stream.lines.len());
                let line = stream.next(&id, &mut rng);
                stream.lines.push(line);
            }
        }
        stream
    }

    fn next(&mut self, id: &str, rng: &mut Rng) -> String {
        let sku = format!("sku-{}", rng.u8(..20));
        let (on_hand, reserved) = self.stock.entry(sku.clone()).or_default();
        if *on_hand - *reserved < 5 {
            *on_hand += 50;
            return received(id, &sku, 50);
        }
        let open = self.orders.iter().find(|(_, order)| order.0 == sku && order.2 == "placed");
        if let Some((order_id, _)) = open
            && rng.bool()
        {
            let order_id = order_id.clone();
            if let Some(order) = self.orders.get_mut(&order_id) {
                *reserved -= order.1;
                order.2 = "cancelled";
            }
            return cancelled(id, &order_id);
        }
        let (order_id, quantity) = (format!("order-{}", self.orders.len()), rng.i64(1..=5));
        *reserved += quantity;
        self.orders.insert(order_id.clone(), (sku.clone(), quantity, "placed"));
        placed(id, &order_id, &sku, quantity)
    }

    pub(crate) fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    /// As [`tables`](crate::program::tables) reads them.
    pub(crate) fn tables(&self) -> (Vec<String>, Vec<String>) {
        let stock = self
            .stock
            .iter()
            .map(|(sku, (on_hand, reserved))| format!("{sku} {on_hand} {reserved}"));
        let orders = self.orders.iter().map(|(order_id, (sku, quantity, status))| {
            format!("{order_id} {sku} {quantity} {status}")
        });
        (stock.collect(), orders.collect())
    }
}
