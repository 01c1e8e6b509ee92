use inbox::integration_event;

#[integration_event(name = "stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.stock.")]
#[derive(serde::Deserialize)]
struct StockReceived {}

fn main() {}
