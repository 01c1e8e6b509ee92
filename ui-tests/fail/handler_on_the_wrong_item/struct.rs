use inbox::inbox_handler;

#[inbox_handler(consumer = "orders")]
struct Stock {}

fn main() {}
