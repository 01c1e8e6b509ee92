use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "orders")]
async fn reserve_stock<T: Send>(_: OrderPlaced, _: FakeTx<'_>, _: T) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
