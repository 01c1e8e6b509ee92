use inbox::integration_event;

#[integration_event]
fn stock() {}

fn main() {}
