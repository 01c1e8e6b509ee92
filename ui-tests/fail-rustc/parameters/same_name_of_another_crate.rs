use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};
use web::State;

mod web {
    pub struct State<T>(pub T);
}

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>, State(_): State<u8>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
