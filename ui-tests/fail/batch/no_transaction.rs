use inbox::inbox_handler;
use ui_tests::OrderPlaced;

#[inbox_handler(consumer = "orders", batch)]
async fn reserve_stock(_: Vec<OrderPlaced>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
