//! What the guides speak of and do not show.

pub use std::time::Duration;

pub use inbox::*;
pub use inbox_postgres::{PgInboxStore, PgTx};
pub use inbox_sqlite::{SqliteInboxStore, SqliteTx};
pub use serde::Deserialize;
pub use sqlx::Connection as _;
pub use sqlx::postgres::PgPoolOptions;
pub use tokio::time::timeout;
pub use uuid::Uuid;

pub type Anything = Box<dyn std::error::Error + Send + Sync>;

#[integration_event(name = "orders.order-placed.v1")]
#[derive(Deserialize)]
pub struct OrderPlaced {
    pub sku: String,
}

#[integration_event(name = "orders.order-placed.v0")]
#[derive(Deserialize)]
pub struct OrderPlacedV1 {
    pub sku: String,
}

#[derive(Clone)]
pub struct Mailer;

#[derive(Debug, thiserror::Error)]
#[error("the stock is not there")]
pub struct StockError(#[from] sqlx::Error);

pub async fn reserve_stock(_: OrderPlaced, _: SqliteTx<'_>) -> Result<(), StockError> {
    Ok(())
}

pub mod stock_handlers {}
pub mod billing_handlers {}

pub async fn optional_step(_: &mut sqlx::SqliteConnection) -> Result<(), sqlx::Error> {
    Ok(())
}
