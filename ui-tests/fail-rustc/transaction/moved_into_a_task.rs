use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

fn spawn(_: impl Future<Output = ()> + Send + 'static) {}

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, mut tx: FakeTx<'_>) -> Result<(), std::io::Error> {
    spawn(async move { drop(tx.execute("").await) });
    Ok(())
}

fn main() {}
