use inbox::inbox_handler;

#[inbox_handler()]
fn reserve_stock() {}

fn main() {}
