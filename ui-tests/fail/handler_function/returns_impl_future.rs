use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "orders")]
fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>) -> impl Future<Output = Result<(), std::io::Error>> {
    async { Ok(()) }
}

fn main() {}
