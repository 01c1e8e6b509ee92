//! Calls the inbox `mailbox` in its Cargo.toml: the attributes find out by themselves.

pub use mailbox;

use mailbox::{Delivery, FromDelivery, HandlerError, inbox_handler, integration_event};

/// An event.
#[integration_event(name = "renamed.happened.v1")]
#[derive(Debug, serde::Deserialize)]
pub struct Happened {}

/// A transaction context.
#[derive(Debug)]
pub struct Tx<'a>(#[allow(dead_code)] &'a mut ());

impl<'a> FromDelivery<'a> for Tx<'a> {
    const IS_TRANSACTION: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        delivery.take_connection().map(Tx)
    }
}

/// A handler.
///
/// # Errors
/// None.
#[inbox_handler(consumer = "renamed")]
pub async fn handle(_: Happened, _: Tx<'_>) -> Result<(), HandlerError> {
    Ok(())
}

#[test]
fn a_handler_finds_an_inbox_of_another_name() {
    let linked = mailbox::linked_handlers();
    assert_eq!(linked.len(), 1);
    assert_eq!(linked[0].consumer(), "renamed");
}
