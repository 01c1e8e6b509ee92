use ui_tests_renamed::mailbox::{HandlerError, inbox_handler};
use ui_tests_renamed::{Happened, Tx};

#[inbox_handler(consumer = "orders")]
async fn reserve_stock(_: Happened, _: Tx<'_>) -> Result<(), HandlerError> {
    Ok(())
}

fn main() {}
