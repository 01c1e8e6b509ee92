use inbox::integration_event;

#[integration_event(upcast_from = StockReceivedV1)]
#[derive(serde::Deserialize)]
struct StockReceived {}

#[integration_event(name = "stock.received.v1")]
#[derive(serde::Deserialize)]
struct StockReceivedV1 {}

impl From<StockReceivedV1> for StockReceived {
    fn from(_: StockReceivedV1) -> Self {
        StockReceived {}
    }
}

fn main() {}
