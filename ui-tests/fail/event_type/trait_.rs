use inbox::integration_event;

#[integration_event]
trait Stock {}

fn main() {}
