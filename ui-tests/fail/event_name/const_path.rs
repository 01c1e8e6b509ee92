use inbox::integration_event;

const NAME: &str = "stock.received.v1";

#[integration_event(name = NAME)]
#[derive(serde::Deserialize)]
struct StockReceived {}

fn main() {}
