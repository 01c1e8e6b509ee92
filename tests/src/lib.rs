//! The contract as tests: every row of the outcome table and the cases from the field, written once
//! against the store SPI and run by every store.
//!
//! A store's author implements [`Harness`] and writes `conformance::suite!(MyHarness);`. Handlers are
//! [`Obey`], whose payload ([`Command`]) says how to end; failures that no database gives on demand
//! come from [`Faulty`]. Races are steered by the [`Probe`]'s gates, and a hanging handler is
//! outlived by moving the runtime's clock, so no test sleeps.
#![allow(missing_docs, reason = "a test's name is its sentence")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "all of it is tests")]

mod abandon;
mod answer;
pub mod batch;
mod bench;
pub mod cases;
mod clock;
mod command;
mod effort;
mod faulty;
mod faulty_letters;
mod harness;
mod held;
pub mod histories;
pub mod letters;
mod logs;
mod obey;
mod obey_many;
mod plan;
mod probe;
pub mod rows;
mod suite;
pub mod transport;

pub use abandon::at_most;
pub use answer::{Attempt, Failed, links};
pub use bench::{Bench, CONSUMER};
pub use command::{COMMAND, Command, End, Escape, Then, envelope};
pub use effort::cases;
pub use faulty::{Faulty, FaultyUnit};
pub use harness::{Connection, Connections, Features, Harness, Nested, StoreOptions};
pub use held::Held;
pub use logs::Logs;
pub use obey::{Obey, Refusal};
pub use obey_many::{ObeyMany, Order};
pub use plan::{ClaimFault, CommitFault, Injected, Plan};
pub use probe::Probe;
pub use suite::block_on;
