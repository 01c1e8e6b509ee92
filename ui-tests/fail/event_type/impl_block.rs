use inbox::integration_event;

struct Stock {}

#[integration_event]
impl Stock {}

fn main() {}
