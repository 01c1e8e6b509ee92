use inbox::inbox_handler;

#[inbox_handler(consumer = "orders")]
static STOCK: u32 = 1;

fn main() {}
