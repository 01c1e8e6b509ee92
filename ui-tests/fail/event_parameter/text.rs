use inbox::inbox_handler;
use ui_tests::FakeTx;

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(payload: &str, _: FakeTx<'_>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
