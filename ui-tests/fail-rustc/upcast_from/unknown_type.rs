use inbox::integration_event;

#[integration_event(upcast_from(StockReceivedV0))]
#[derive(serde::Deserialize)]
struct StockReceived {}

fn main() {}
