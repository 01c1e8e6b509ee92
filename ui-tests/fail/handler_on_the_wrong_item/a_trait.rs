use inbox::inbox_handler;

#[inbox_handler(consumer = "orders")]
trait Stock {}

fn main() {}
