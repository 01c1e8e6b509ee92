//! The handlers on PostgreSQL.

use inbox::{State, inbox_handler};
use inbox_postgres::PgTx;

use crate::events::{OrderCancelled, OrderPlaced, StockReceived};
use crate::handlers::StockError;
use crate::outage::Outage;
use crate::sql;

/// A subscriber of its own: this program holds the handlers of two stores, and an inbox runs one's.
pub(crate) const CONSUMER: &str = "stock-service-on-postgres";

#[inbox_handler(consumer = "stock-service-on-postgres")]
async fn receive_stock(event: StockReceived, mut tx: PgTx<'_>) -> Result<(), StockError> {
    sqlx::query(sql::RECEIVE)
        .bind(event.sku.as_str())
        .bind(event.quantity.get())
        .execute(&mut *tx)
        .await?;
    Ok(())
}

#[inbox_handler(consumer = "stock-service-on-postgres")]
async fn reserve_stock(
    event: OrderPlaced,
    mut tx: PgTx<'_>,
    State(outage): State<Outage>,
) -> Result<(), StockError> {
    let placed = sqlx::query(sql::PLACE)
        .bind(event.order_id.as_str())
        .bind(event.sku.as_str())
        .bind(event.quantity.get())
        .execute(&mut *tx)
        .await?;
    if placed.rows_affected() == 0 {
        return Err(StockError::PlacedBefore);
    }
    let reserved = sqlx::query(sql::RESERVE)
        .bind(event.sku.as_str())
        .bind(event.quantity.get())
        .execute(&mut *tx)
        .await?;
    if reserved.rows_affected() == 0 {
        return Err(StockError::NotEnough);
    }
    outage.strike(&event.order_id)
}

#[inbox_handler(consumer = "stock-service-on-postgres")]
async fn release_stock(event: OrderCancelled, mut tx: PgTx<'_>) -> Result<(), StockError> {
    let cancelled: Option<(String, i64)> =
        sqlx::query_as(sql::CANCEL).bind(event.order_id.as_str()).fetch_optional(&mut *tx).await?;
    let (sku, quantity) = cancelled.ok_or(StockError::NotPlaced)?;
    sqlx::query(sql::RELEASE).bind(sku).bind(quantity).execute(&mut *tx).await?;
    Ok(())
}
