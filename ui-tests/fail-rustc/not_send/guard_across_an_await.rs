use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

static LOCK: std::sync::Mutex<u8> = std::sync::Mutex::new(1);

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, mut tx: FakeTx<'_>) -> Result<(), std::io::Error> {
    let guard = LOCK.lock().unwrap();
    tx.execute(&guard.to_string()).await
}

fn main() {}
