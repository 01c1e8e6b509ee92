//! The contract as a broker sees it, written once against [`Broker`] and run by every transport.
//!
//! A transport's author implements [`Broker`] and writes `conformance::transport_suite!(Store, MyBroker);`.

pub mod attempts;
pub mod batches;
mod bench;
mod broker;
pub mod ends;
pub mod order;
pub mod outcomes;
pub mod retries;
mod wire;

pub use bench::Line;
pub use broker::{Broker, Letter, Subscribed};
pub use wire::{attributes, id_text};
