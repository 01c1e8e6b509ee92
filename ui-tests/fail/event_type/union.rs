use inbox::integration_event;

#[integration_event]
union Stock {
    a: u8,
}

fn main() {}
