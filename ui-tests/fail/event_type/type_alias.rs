use inbox::integration_event;

#[integration_event]
type Stock = ui_tests::OrderPlaced;

fn main() {}
