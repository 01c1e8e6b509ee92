//! What the service does with an event: it writes down a payment.

use inbox::{DeliveryAttempt, Envelope, inbox_handler, integration_event};
use inbox_sqlite::SqliteTx;
use serde::Deserialize;

/// The consumer's name.
pub(crate) const CONSUMER: &str = "payments-service";

/// The service's own tables.
pub(crate) const TABLES: &str =
    "CREATE TABLE payments (source TEXT NOT NULL, amount INTEGER NOT NULL) STRICT;
     CREATE TABLE outages (source TEXT PRIMARY KEY) STRICT";

#[integration_event(name = "payment.succeeded")]
#[derive(Deserialize)]
struct PaymentSucceeded {
    amount: i64,
}

#[derive(Debug, thiserror::Error)]
enum PaymentError {
    #[error("the ledger is not there yet")]
    NotYet,
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

#[inbox_handler(consumer = "payments-service")]
async fn record_payment(
    event: PaymentSucceeded,
    envelope: &Envelope,
    DeliveryAttempt(attempt): DeliveryAttempt,
    mut tx: SqliteTx<'_>,
) -> Result<(), PaymentError> {
    sqlx::query("INSERT INTO payments VALUES (?, ?)")
        .bind(envelope.source())
        .bind(event.amount)
        .execute(&mut *tx)
        .await?;
    // For the demonstration: the first delivery of a payment of 500 fails, and leaves nothing behind.
    match (event.amount, attempt) {
        (500, Some(1)) => Err(PaymentError::NotYet),
        _ => Ok(()),
    }
}
