use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

trait Stock {
    #[inbox_handler(consumer = "orders")]
    async fn reserve(event: OrderPlaced, tx: FakeTx<'_>) -> Result<(), std::io::Error>;
}

fn main() {}
