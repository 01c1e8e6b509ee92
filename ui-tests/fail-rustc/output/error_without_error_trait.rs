use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

#[derive(Debug)]
enum StockError {
    Out,
}

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), StockError> {
    Err(StockError::Out)
}

fn main() {}
