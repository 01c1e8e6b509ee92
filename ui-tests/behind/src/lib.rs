//! Does not depend on the inbox, and says where it is re-exported.

use ui_tests_renamed::{Tx, mailbox};

/// An event.
#[mailbox::integration_event(crate = ui_tests_renamed::mailbox)]
#[derive(Debug, serde::Deserialize)]
pub struct Happened {}

/// A handler.
///
/// # Errors
/// None.
#[mailbox::inbox_handler(consumer = "behind", crate = mailbox)]
pub async fn handle(_: Happened, _: Tx<'_>) -> Result<(), mailbox::HandlerError> {
    Ok(())
}

#[test]
fn a_handler_is_registered_beside_those_of_the_crate_that_passes_the_inbox_on() {
    let linked = mailbox::linked_handlers();
    let consumers: Vec<_> = linked.iter().map(mailbox::HandlerRegistration::consumer).collect();
    assert_eq!(consumers, ["behind", "renamed"]);
}
