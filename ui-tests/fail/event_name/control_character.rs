use inbox::integration_event;

#[integration_event(name = "stock\treceived")]
#[derive(serde::Deserialize)]
struct StockReceived {}

fn main() {}
