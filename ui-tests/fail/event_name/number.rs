use inbox::integration_event;

#[integration_event(name = 1)]
#[derive(serde::Deserialize)]
struct StockReceived {}

fn main() {}
