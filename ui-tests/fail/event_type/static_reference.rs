use inbox::integration_event;

#[integration_event]
#[derive(serde::Deserialize)]
struct StockReceived {
    sku: &'static str,
}

fn main() {}
