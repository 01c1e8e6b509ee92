use inbox::integration_event;

#[integration_event]
#[derive(serde::Serialize)]
struct StockReceived {}

fn main() {}
