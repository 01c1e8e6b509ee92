use inbox::{Delivery, FromDelivery, HandlerError, inbox_handler};
use ui_tests::{FakeTx, OrderPlaced};

struct Tenant;

impl<'a> FromDelivery<'a> for Tenant {
    fn from_delivery(_: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        Ok(Tenant)
    }
}

#[inbox_handler(consumer = "orders", batch)]
async fn reserve_stock(_: Vec<OrderPlaced>, _: FakeTx<'_>, _: Tenant) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
