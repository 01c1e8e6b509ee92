use inbox::integration_event;

#[integration_event(name = "stock.received.v1")]
#[integration_event(name = "stock.received.v2")]
#[derive(serde::Deserialize)]
struct StockReceived {}

fn main() {}
