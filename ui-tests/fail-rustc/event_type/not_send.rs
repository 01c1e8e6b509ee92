use inbox::integration_event;

#[integration_event]
#[derive(serde::Deserialize)]
struct StockReceived {
    #[serde(skip)]
    cache: Option<std::rc::Rc<u8>>,
}

fn main() {}
