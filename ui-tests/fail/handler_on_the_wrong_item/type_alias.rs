use inbox::inbox_handler;

#[inbox_handler(consumer = "orders")]
type Stock = u32;

fn main() {}
