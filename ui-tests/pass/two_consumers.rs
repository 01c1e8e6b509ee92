use inbox::inbox_handler;
use ui_tests::FakeTx;

use super::Happened;

#[inbox_handler(consumer = "two/a")]
#[inbox_handler(consumer = "two/b")]
async fn twice(_: Happened, _: FakeTx<'_>) -> Result<(), String> {
    Ok(())
}
