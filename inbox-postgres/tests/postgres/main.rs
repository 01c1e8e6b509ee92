//! What is PostgreSQL's own about the store; the outcome table is in the conformance suite.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod abandoned;
mod batch_deadlocks;
mod batch_faults;
mod batches;
mod bed;
mod check;
mod claims;
mod crashes;
mod exchanged;
mod faults;
mod isolation;
mod migrations;
mod sessions;
mod trips;
mod unknown_commits;
mod worker;
