//! The `orders` example as its users see it: a process with files, streams and an exit code.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

mod batch;
mod built;
mod crash;
mod demonstration;
mod file;
mod input;
mod lines_refused;
mod postgres;
mod program;
mod stream;
