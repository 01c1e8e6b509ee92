//! [`PgTx`]: the transaction context of a handler.

use std::fmt;
use std::ops::{Deref, DerefMut};

use inbox::{Delivery, FromDelivery, HandlerError, Requirements};
use sqlx::PgConnection;

use crate::store::NAME;

/// The transaction that holds the message's dedup row, lent to a handler.
///
/// Used as sqlx's own transaction is: `.execute(&mut *tx)`. What is written through it is committed
/// together with the dedup row, or not at all. `tx.begin()` (with `sqlx::Acquire` in scope) opens a
/// savepoint. A handler must not end the transaction: a raw `COMMIT` is refused by the database, and
/// either is answered as [`TransactionEscaped`](inbox::DispatchErrorKind::TransactionEscaped).
///
/// ```
/// use inbox::{inbox_handler, integration_event};
/// use inbox_postgres::PgTx;
///
/// #[integration_event(name = "stock.received.v1")]
/// #[derive(serde::Deserialize)]
/// struct StockReceived { sku: String, quantity: i64 }
///
/// #[inbox_handler(consumer = "stock-service")]
/// async fn receive(event: StockReceived, mut tx: PgTx<'_>) -> Result<(), sqlx::Error> {
///     sqlx::query("UPDATE stock SET on_hand = on_hand + $1 WHERE sku = $2")
///         .bind(event.quantity)
///         .bind(&event.sku)
///         .execute(&mut *tx)
///         .await?;
///     Ok(())
/// }
/// ```
pub struct PgTx<'a>(&'a mut PgConnection);

impl<'a> FromDelivery<'a> for PgTx<'a> {
    const IS_TRANSACTION: bool = true;
    const OF_A_BATCH: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        delivery.take_connection().map(PgTx)
    }

    fn requirements(needs: &mut Requirements) {
        needs.connection::<PgConnection>(NAME);
    }
}

/// For a handler's unit test: any connection will do, in a transaction or not. The handler is called
/// with `PgTx::from(&mut *transaction)`.
impl<'a> From<&'a mut PgConnection> for PgTx<'a> {
    fn from(connection: &'a mut PgConnection) -> Self {
        Self(connection)
    }
}

impl Deref for PgTx<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.0
    }
}

impl DerefMut for PgTx<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.0
    }
}

impl fmt::Debug for PgTx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PgTx")
    }
}
