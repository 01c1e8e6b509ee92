use inbox::inbox_handler;

#[inbox_handler(consumer = "orders")]
pub use std::fmt;

fn main() {}
