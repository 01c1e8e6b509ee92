use inbox::{MessageId, State, inbox_handler};
use ui_tests::OrderPlaced;

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: MessageId, _: State<u8>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
