use inbox::{Outcome, inbox_handler};
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>) -> Result<Outcome, std::io::Error> {
    Ok(Outcome::Processed)
}

fn main() {}
