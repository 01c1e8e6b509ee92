use inbox::integration_event;

#[integration_event]
struct StockReceived {}

fn main() {}
