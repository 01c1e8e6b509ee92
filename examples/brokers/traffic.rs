//! What is published, and what has to come of it.

use std::io::Write as _;

use inbox::IntegrationEvent as _;

use crate::broker::Broker;
use crate::service::OrderPlaced;

/// Every fourth order is published twice, as by a producer whose confirmation was lost.
const ORDERS: i64 = 20;
const TWICE: i64 = ORDERS / 4;
/// And one message cannot be read.
const UNREADABLE: i64 = 1;

pub(crate) struct Traffic(Vec<OrderPlaced>);

impl Traffic {
    pub(crate) fn new() -> Self {
        let sku = |number| if number % 2 == 0 { "tea" } else { "coffee" };
        let order = |number| OrderPlaced { sku: sku(number).to_owned(), quantity: 1 + number % 3 };
        Self((0..ORDERS).map(order).collect())
    }

    pub(crate) async fn publish(&self, broker: &Broker) -> anyhow::Result<()> {
        for (number, order) in self.0.iter().enumerate() {
            let (id, payload) = (format!("order-{number}"), serde_json::to_vec(order)?);
            for _ in 0..=usize::from(number % 4 == 0) {
                broker.publish(&id, OrderPlaced::EVENT_TYPE, payload.clone()).await?;
            }
        }
        broker.publish("order-x", OrderPlaced::EVENT_TYPE, b"not JSON".to_vec()).await
    }

    /// Prints what came of it; true where each order took effect once and nothing else did.
    pub(crate) fn conclude(
        &self,
        deliveries: u64,
        dead: u64,
        (reservations, pieces): (i64, i64),
    ) -> anyhow::Result<bool> {
        let ordered: i64 = self.0.iter().map(|order| order.quantity).sum();
        let (deliveries, dead) = (i64::try_from(deliveries)?, i64::try_from(dead)?);
        let skipped = deliveries - reservations - dead;
        let is_exact =
            (reservations, pieces) == (ORDERS, ordered) && (skipped, dead) == (TWICE, UNREADABLE);
        writeln!(
            std::io::stdout(),
            "published            {}\n  processed          {reservations}\n  skipped duplicates \
             {skipped}\n  dead letters       {dead}\npieces reserved      {pieces} of {ordered}\n{}",
            ORDERS + TWICE + UNREADABLE,
            if is_exact { "exact" } else { "NOT as it has to be" },
        )?;
        Ok(is_exact)
    }
}
