use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

struct Stock;

#[inbox_handler(consumer = "orders")]
impl Stock {
    async fn reserve(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), std::io::Error> {
        Ok(())
    }
}

fn main() {}
