use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

const CONSUMER: &str = "orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-orders-";

#[inbox_handler(consumer = CONSUMER)]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
