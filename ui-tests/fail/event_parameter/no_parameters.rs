use inbox::inbox_handler;

#[inbox_handler(consumer = "orders")]
async fn reserve_stock() -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
