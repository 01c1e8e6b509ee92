use std::io;

use inbox::inbox_handler;
use ui_tests::FakeTx;

use super::Happened;

mod config {
    pub(crate) const CONSUMER: &str = "a-const.v1";
}

struct Orders;

impl Orders {
    const CONSUMER: &'static str = config::CONSUMER;
}

#[inbox_handler(consumer = config::CONSUMER)]
async fn named_by_a_const(_: Happened, _: FakeTx<'_>) -> Result<(), io::Error> {
    Ok(())
}

#[inbox_handler(consumer = <Orders>::CONSUMER)]
async fn named_by_an_associated_const(_: Happened, _: FakeTx<'_>) -> Result<(), io::Error> {
    Ok(())
}
