use inbox::inbox_handler;
use ui_tests::OrderPlaced;

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
