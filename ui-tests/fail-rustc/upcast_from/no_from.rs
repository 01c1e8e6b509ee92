use inbox::integration_event;

#[integration_event(upcast_from(ui_tests::OrderPlaced))]
#[derive(serde::Deserialize)]
struct StockReceived {}

fn main() {}
