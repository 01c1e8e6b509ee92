use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "orders", batch = 100)]
async fn reserve_stock(_: Vec<OrderPlaced>, _: FakeTx<'_>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
