use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(OrderPlaced { sku }: OrderPlaced, _: FakeTx<'_>, inbox::State(n): inbox::MessageId) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
