use inbox::{Headers, MessageId, inbox_handler};
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "orders", batch)]
async fn reserve_stock(
    _: Vec<OrderPlaced>,
    _: FakeTx<'_>,
    _: MessageId,
    _: &Headers,
) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
