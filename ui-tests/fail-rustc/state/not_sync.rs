use inbox::{State, inbox_handler};
use ui_tests::{FakeTx, OrderPlaced};

use std::cell::Cell;

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>, _: State<Cell<u8>>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
