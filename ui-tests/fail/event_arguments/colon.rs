use inbox::integration_event;

#[integration_event(name: "stock.received.v1")]
#[derive(serde::Deserialize)]
struct StockReceived {}

fn main() {}
