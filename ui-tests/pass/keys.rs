use std::io;

use inbox::inbox_handler;
use ui_tests::FakeTx;

use super::Happened;

#[inbox_handler(order = -5, timeout = "1500 ms", crate = ::inbox, consumer = "keys",)]
// A comment between the attribute and the function.
async fn early(_: Happened, _: FakeTx<'_>) -> Result<(), io::Error> {
    Ok(())
}

#[inbox_handler(consumer = "keys")]
async fn usual(_: Happened, _: FakeTx<'_>) -> Result<(), io::Error> {
    Ok(())
}

mod re_exports {
    pub(super) mod of_ours {
        pub(crate) use inbox as messages;
    }
}

#[inbox_handler(consumer = "keys", order = 1, crate = re_exports::of_ours::messages)]
async fn late(_: Happened, _: FakeTx<'_>) -> Result<(), io::Error> {
    Ok(())
}
