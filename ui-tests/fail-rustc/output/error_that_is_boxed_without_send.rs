use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), Box<dyn std::error::Error>> {
    Ok(())
}

fn main() {}
