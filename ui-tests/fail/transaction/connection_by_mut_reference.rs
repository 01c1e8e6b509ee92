use inbox::inbox_handler;
use ui_tests::OrderPlaced;

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: &mut ui_tests::FakeConnection) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
