use inbox::inbox_handler;
use ui_tests::FakeTx;

struct Anything;

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: Anything, _: FakeTx<'_>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
