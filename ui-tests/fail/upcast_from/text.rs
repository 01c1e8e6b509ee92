use inbox::integration_event;

#[integration_event(upcast_from("stock.received.v1"))]
#[derive(serde::Deserialize)]
struct StockReceived {}

fn main() {}
