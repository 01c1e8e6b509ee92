//! What is PostgreSQL's own about the store; the outcome table is in the conformance suite.

mod bed;
mod check;
mod claims;
mod faults;
mod isolation;
mod migrations;
mod sessions;
mod worker;
