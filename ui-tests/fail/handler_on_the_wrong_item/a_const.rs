use inbox::inbox_handler;

#[inbox_handler(consumer = "orders")]
const STOCK: u32 = 1;

fn main() {}
