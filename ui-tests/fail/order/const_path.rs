use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

const FIRST: i32 = 1;

#[inbox_handler(consumer = "orders", order = FIRST)]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
