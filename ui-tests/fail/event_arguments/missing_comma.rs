use inbox::integration_event;

#[integration_event(upcast_from(ui_tests::OrderPlaced) name = "stock.received.v2")]
#[derive(serde::Deserialize)]
struct StockReceived {}

impl From<ui_tests::OrderPlaced> for StockReceived {
    fn from(_: ui_tests::OrderPlaced) -> Self {
        StockReceived {}
    }
}

fn main() {}
