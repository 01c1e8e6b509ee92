use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

trait Stock {
    async fn reserve(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), std::io::Error>;
}

struct Shelf;

impl Stock for Shelf {
    #[inbox_handler(consumer = "orders")]
    async fn reserve(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), std::io::Error> {
        Ok(())
    }
}

fn main() {}
