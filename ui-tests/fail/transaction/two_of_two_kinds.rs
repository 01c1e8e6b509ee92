use inbox::{Delivery, FromDelivery, HandlerError, inbox_handler};
use ui_tests::{FakeTx, OrderPlaced};

struct Repository<'a>(FakeTx<'a>);

impl<'a> FromDelivery<'a> for Repository<'a> {
    const IS_TRANSACTION: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        FakeTx::from_delivery(delivery).map(Repository)
    }
}

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: OrderPlaced, _: FakeTx<'_>, _: Repository<'_>) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
