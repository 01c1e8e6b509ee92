use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>, _: &inbox::State<u8>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
