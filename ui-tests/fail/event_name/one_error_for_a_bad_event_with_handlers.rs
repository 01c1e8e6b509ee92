use inbox::{inbox_handler, integration_event};

#[integration_event(name = "")]
#[derive(serde::Deserialize)]
struct StockReceived {}

#[inbox_handler(consumer = "orders")]
async fn receive(_: StockReceived, _: ui_tests::FakeTx<'_>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
