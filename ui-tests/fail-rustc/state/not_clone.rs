use inbox::{State, inbox_handler};
use ui_tests::{FakeTx, OrderPlaced};

struct Anything;

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>, _: State<Anything>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
