use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: FakeTx<'_>, _: OrderPlaced) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
