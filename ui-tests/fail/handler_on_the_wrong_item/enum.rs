use inbox::inbox_handler;

#[inbox_handler(consumer = "orders")]
enum Stock {}

fn main() {}
