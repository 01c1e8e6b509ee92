use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

type Tx = FakeTx<'static>;

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: Tx) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
