use inbox::integration_event;

#[integration_event]
#[derive(serde::Deserialize)]
struct Renamed<'a> {
    to: &'a str,
}

fn main() {}
