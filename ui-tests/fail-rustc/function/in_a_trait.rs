use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

trait Stock {
    #[inbox_handler(consumer = "orders")]
    async fn reserve(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), std::io::Error> {
        Ok(())
    }
}

fn main() {}
