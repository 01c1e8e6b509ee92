use inbox::integration_event;

#[integration_event(upcast_from = StockReceivedV1)]
#[derive(serde::Deserialize)]
struct StockReceived {}

fn main() {}
