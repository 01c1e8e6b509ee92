use inbox::integration_event;

#[integration_event(stock.received.v1)]
#[derive(serde::Deserialize)]
struct StockReceived {}

fn main() {}
