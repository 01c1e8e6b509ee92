use inbox::integration_event;

#[integration_event]
#[derive(serde::Deserialize)]
struct Changed<T> {
    to: T,
}

fn main() {}
