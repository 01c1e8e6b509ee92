use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

const fn consumer() -> &'static str {
    "orders"
}

#[inbox_handler(consumer = consumer())]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
