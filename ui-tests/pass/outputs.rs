use inbox::{HandlerError, Permanent, PermanentError, inbox_handler};
use ui_tests::FakeTx;

use super::Happened;

type Fallible<T = ()> = Result<T, Permanent>;

#[inbox_handler(consumer = "outputs")]
async fn boxed(_: Happened, mut tx: FakeTx<'_>) -> Result<(), HandlerError> {
    Ok(tx.execute("").await?)
}

#[inbox_handler(consumer = "outputs")]
async fn string(_: Happened, _: FakeTx<'_>) -> Result<(), String> {
    Err("no".to_owned())
}

#[inbox_handler(consumer = "outputs")]
async fn text(_: Happened, _: FakeTx<'_>) -> Result<(), &'static str> {
    Err("no")
}

#[inbox_handler(consumer = "outputs")]
async fn alias(_: Happened, _: FakeTx<'_>) -> Fallible {
    Err("never".permanent())
}

#[rustfmt::skip]
#[inbox_handler(consumer = "outputs")]
async fn on_one_line(_: Happened, _: FakeTx<'_>) -> Result<(), String> { Ok(()) }
