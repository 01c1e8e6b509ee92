use inbox::integration_event;

#[integration_event(upcast_from(u8))]
#[derive(serde::Deserialize)]
struct StockReceived {}

impl From<u8> for StockReceived {
    fn from(_: u8) -> Self {
        StockReceived {}
    }
}

fn main() {}
