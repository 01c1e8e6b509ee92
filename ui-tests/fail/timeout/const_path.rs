use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

const LONG: &str = "5m";

#[inbox_handler(consumer = "orders", timeout = LONG)]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
