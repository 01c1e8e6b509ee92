use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "orders", batch)]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
