//! Someone who tries hard to make the inbox lose or double a message.
//!
//! The tests cut, stall and delay the wire at every protocol message, kill consumers and servers, drop
//! dispatches half-way, and storm one message with twins; afterwards each handler's effects must equal its consumer's dedup rows
//! must equal the distinct messages. `INBOX_BATTERY=full` runs the long form.

mod books;
mod form;
mod handlers;
mod lives;
pub mod mutations;
mod proof;
mod stage;
mod way;

pub use books::{Books, Kind, Message};
pub use form::{Form, through_a_pooler};
pub use handlers::{CONSUMERS, Effects, HANDLERS, Ledger, Placed, inbox_on, message, store_on};
pub use lives::{Lives, Tally};
pub use proof::Proof;
pub use stage::{SqliteStage, Stage};
pub use way::Way;

/// Any failure of the battery itself.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;
