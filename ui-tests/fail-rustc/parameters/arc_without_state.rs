use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

struct Prices;

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>, _: std::sync::Arc<Prices>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
