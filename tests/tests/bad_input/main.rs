//! Whatever arrives is processed rightly or refused with a clear error: it never makes the library panic,
//! and no error or log line shows a value of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "all of it is tests")]

mod cloud_events;
mod corpus;
mod dispatches;
mod ids;
mod input;
mod payloads;
mod silence;
