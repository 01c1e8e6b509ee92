use inbox::integration_event;

#[derive(serde::Deserialize)]
struct Stock {}

#[integration_event]
impl Stock {}

fn main() {}
