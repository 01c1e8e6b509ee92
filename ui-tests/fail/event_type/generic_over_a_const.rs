use inbox::integration_event;

#[integration_event]
#[derive(serde::Deserialize)]
struct Changed<const N: usize> {}

fn main() {}
