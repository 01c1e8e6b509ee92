//! The demonstration's outage, handed to a handler as `State<Outage>`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::events::Key;
use crate::handlers::StockError;

/// The orders whose reservation fails the first time, after its writes. Empty unless demonstrated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outage(Arc<Mutex<BTreeSet<String>>>);

impl Outage {
    pub(crate) fn hitting(orders: impl IntoIterator<Item = String>) -> Self {
        Self(Arc::new(Mutex::new(orders.into_iter().collect())))
    }

    /// Fails the first time it is asked about an order it hits.
    pub(crate) fn strike(&self, order_id: &Key) -> Result<(), StockError> {
        let mut orders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if orders.remove(order_id.as_str()) { Err(StockError::Outage) } else { Ok(()) }
    }
}
