use std::io;

use inbox::inbox_handler;
use ui_tests::FakeTx;

use super::Happened;

/// Documented.
#[inbox_handler(consumer = "attributes")]
#[tracing::instrument(skip_all, fields(id = event.id))]
async fn instrumented(event: Happened, mut tx: FakeTx<'_>) -> Result<(), io::Error> {
    tx.execute(&event.id.to_string()).await
}

#[tracing::instrument(skip_all)]
#[inbox_handler(consumer = "attributes")]
pub(crate) async fn instrumented_above(
    event: Happened,
    mut tx: FakeTx<'_>,
) -> Result<(), io::Error> {
    tx.execute(&event.id.to_string()).await
}

#[inbox_handler(consumer = "attributes")]
#[cfg(not(debug_assertions))]
async fn configured(_: Happened, _: FakeTx<'_>) -> Result<(), io::Error> {
    Ok(())
}

#[cfg(debug_assertions)]
#[inbox_handler(consumer = "attributes")]
async fn configured(_: Happened, _: FakeTx<'_>) -> Result<(), io::Error> {
    Ok(())
}

#[cfg_attr(debug_assertions, inbox_handler(consumer = "attributes"))]
#[cfg_attr(not(debug_assertions), inbox_handler(consumer = "attributes"))]
#[deprecated]
#[must_use = "the answer says whether it went well"]
async fn deprecated(_: Happened, _: FakeTx<'_>) -> Result<(), io::Error> {
    Ok(())
}

#[inbox_handler(consumer = "attributes")]
async fn with_inner_attributes(event: Happened, mut tx: FakeTx<'_>) -> Result<(), io::Error> {
    #![expect(unused_variables)]
    #![allow(unused_mut)]
    let mut unused = event;
    tx.execute("").await
}
