use inbox::inbox_handler;
use ui_tests::FakeTx;

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(payload: &[u8], _: FakeTx<'_>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
