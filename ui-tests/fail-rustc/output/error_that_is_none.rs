use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

struct Anything;

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), Anything> {
    Err(Anything)
}

fn main() {}
