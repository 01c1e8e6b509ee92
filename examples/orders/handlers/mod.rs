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
