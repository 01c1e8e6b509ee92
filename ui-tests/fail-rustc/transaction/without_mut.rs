use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(event: OrderPlaced, tx: FakeTx<'_>) -> Result<(), std::io::Error> {
    tx.execute(&event.sku).await
}

fn main() {}
