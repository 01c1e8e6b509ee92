use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

#[derive(Debug)]
struct NotSend(std::rc::Rc<u8>);

impl std::fmt::Display for NotSend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl std::error::Error for NotSend {}

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), NotSend> {
    Ok(())
}

fn main() {}
