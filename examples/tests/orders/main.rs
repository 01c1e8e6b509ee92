//! The `orders` example as its users see it: a process with files, streams and an exit code.

mod crash;
mod demonstration;
mod file;
mod input;
mod lines_refused;
mod program;
mod stream;
