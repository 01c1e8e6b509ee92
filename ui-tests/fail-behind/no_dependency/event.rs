use ui_tests_renamed::mailbox::integration_event;

#[integration_event]
#[derive(serde::Deserialize)]
struct OrderPlaced {}

fn main() {}
