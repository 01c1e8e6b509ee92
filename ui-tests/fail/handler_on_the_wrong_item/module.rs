use inbox::inbox_handler;

#[inbox_handler(consumer = "orders")]
mod stock {}

fn main() {}
