use inbox::inbox_handler;
use ui_tests::{FakeTx, OrderPlaced};

static CONSUMER: std::sync::LazyLock<String> = std::sync::LazyLock::new(String::new);

#[inbox_handler(consumer = CONSUMER)]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
