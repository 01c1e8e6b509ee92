use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, mut tx: FakeTx<'_>) -> Result<(), std::io::Error> {
    let kept = std::rc::Rc::new(1);
    tx.execute("").await?;
    drop(kept);
    Ok(())
}

fn main() {}
