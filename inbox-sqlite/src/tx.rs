//! [`SqliteTx`]: what a handler writes through.

use std::fmt;
use std::ops::{Deref, DerefMut};

use inbox::{Delivery, FromDelivery, HandlerError, InboxStore, Requirements};
use sqlx::SqliteConnection;

use crate::store::SqliteInboxStore;

/// The transaction context: the connection whose open transaction holds the message's dedup row.
/// What is written through it is committed together with that row, or not at all.
///
/// A handler takes it by value and uses it as `&mut *tx`, like a transaction of sqlx:
///
/// ```
/// use inbox_sqlite::SqliteTx;
///
/// async fn reserve(sku: String, mut tx: SqliteTx<'_>) -> Result<(), sqlx::Error> {
///     sqlx::query("UPDATE stock SET reserved = reserved + 1 WHERE sku = ?1")
///         .bind(sku)
///         .execute(&mut *tx)
///         .await?;
///     Ok(())
/// }
/// ```
///
/// `tx.begin()` (of [`sqlx::Connection`]) opens a savepoint. The transaction itself is not the
/// handler's to end: it has no `commit`, and a raw `COMMIT` is refused or found out.
pub struct SqliteTx<'a>(&'a mut SqliteConnection);

/// For a handler's unit test: any connection will do, in a transaction or not.
///
/// ```
/// use inbox_sqlite::SqliteTx;
/// use sqlx::Connection as _;
/// # async fn reserve(sku: &str, mut tx: SqliteTx<'_>) -> Result<(), sqlx::Error> {
/// #     sqlx::query("UPDATE stock SET reserved = 1 WHERE sku = ?1").bind(sku).execute(&mut *tx).await?;
/// #     Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let mut connection = sqlx::SqliteConnection::connect("sqlite::memory:").await?;
/// sqlx::raw_sql("CREATE TABLE stock (sku, reserved); INSERT INTO stock VALUES ('tea', 0)")
///     .execute(&mut connection)
///     .await?;
///
/// reserve("tea", SqliteTx::from(&mut connection)).await?;
///
/// let reserved: i64 =
///     sqlx::query_scalar("SELECT reserved FROM stock").fetch_one(&mut connection).await?;
/// assert_eq!(reserved, 1);
/// # Ok::<(), sqlx::Error>(())
/// # }).unwrap();
/// ```
impl<'a> From<&'a mut SqliteConnection> for SqliteTx<'a> {
    fn from(connection: &'a mut SqliteConnection) -> Self {
        Self(connection)
    }
}

impl Deref for SqliteTx<'_> {
    type Target = SqliteConnection;
    fn deref(&self) -> &SqliteConnection {
        self.0
    }
}

impl DerefMut for SqliteTx<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.0
    }
}

impl<'a> FromDelivery<'a> for SqliteTx<'a> {
    const IS_TRANSACTION: bool = true;
    const OF_A_BATCH: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        delivery.take_connection().map(SqliteTx)
    }

    fn requirements(needs: &mut Requirements) {
        needs.connection::<SqliteConnection>(SqliteInboxStore::NAME);
    }
}

impl fmt::Debug for SqliteTx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SqliteTx")
    }
}
