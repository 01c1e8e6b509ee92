use inbox::integration_event;

#[integration_event(name = "   ")]
#[derive(serde::Deserialize)]
struct StockReceived {}

fn main() {}
