use inbox::inbox_handler;
use ui_tests::FakeTx;

#[inbox_handler(consumer = "orders", batch)]
async fn reserve_stock(_: Vec<FakeTx<'_>>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
