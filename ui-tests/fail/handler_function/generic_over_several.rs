use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "orders")]
async fn reserve_stock<'a, T, const N: usize>(_: OrderPlaced, _: FakeTx<'a>, _: [T; N]) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
