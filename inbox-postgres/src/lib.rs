//! The PostgreSQL store of the [transactional inbox](inbox).
//!
//! The dedup row and everything a handler writes through [`PgTx`] are committed in one transaction,
//! and a success is answered only when that commit is durable.

mod batch;
mod batch_sql;
mod check;
mod error;
mod lease;
mod rows;
mod schema;
mod sql;
mod store;
mod told;
mod transport;
mod transport_sql;
mod tx;
mod unit;

pub use lease::PgHeld;
pub use store::PgInboxStore;
pub use tx::PgTx;
pub use unit::PgUnit;
