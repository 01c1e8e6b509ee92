use inbox::{State, inbox_handler};
use ui_tests::{FakeTx, OrderPlaced};

use std::rc::Rc;

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>, _: State<Rc<u8>>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
