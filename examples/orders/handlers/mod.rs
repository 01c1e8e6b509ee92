//! The stock service: what each event does to the tables `stock` and `orders`.
//!
//! All that a handler writes through `tx` is committed together with the mark that its message was
//! processed, or not at all. So none of them asks whether it has seen the message before.

pub(crate) mod postgres;
pub(crate) mod sqlite;

/// Why an event could not be applied. Nothing of it was written, and it may be delivered again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StockError {
    #[error("an order with this order_id was placed before")]
    PlacedBefore,
    #[error("there is less in stock than the order wants")]
    NotEnough,
    #[error("no order with this order_id is placed: it is unknown or already cancelled")]
    NotPlaced,
    #[error("the simulated outage")]
    Outage,
    #[error("a statement failed")]
    Database(#[from] sqlx::Error),
}

impl StockError {
    /// The driver's own failure, or the server's word that it ends the session (class 57).
    pub(crate) fn is_a_lost_connection(&self) -> bool {
        let StockError::Database(error) = self else { return false };
        match error.as_database_error() {
            Some(told) => told.code().is_some_and(|code| code.starts_with("57")),
            None => true,
        }
    }
}
