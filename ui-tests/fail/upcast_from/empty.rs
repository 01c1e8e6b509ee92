use inbox::integration_event;

#[integration_event(upcast_from())]
#[derive(serde::Deserialize)]
struct StockReceived {}

fn main() {}
