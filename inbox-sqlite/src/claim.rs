//! The dedup rows: inserting them, and looking for one.

use std::time::Duration;

use inbox::{Claim, Fault, Fingerprint, MessageId, PairAnswer, Recorded, StoreError};
use sqlx::SqliteConnection;

use crate::fault::failed;
use crate::sql;

/// What is kept in a row besides the event type.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Columns {
    pub(crate) source: bool,
    pub(crate) fingerprint: bool,
}

/// Claims a pair in the open transaction. No other writer is at work, so it is fresh or a duplicate.
pub(crate) async fn claim(
    connection: &mut SqliteConnection,
    claim: Claim<'_>,
    columns: Columns,
) -> Result<PairAnswer, StoreError> {
    if insert(connection, claim, columns).await? {
        return Ok(PairAnswer::Fresh);
    }
    let recorded = find_on(connection, claim.consumer, claim.message_id).await?;
    recorded.map(PairAnswer::Duplicate).ok_or_else(|| {
        StoreError::new(Fault::Other, "the dedup row could not be inserted and is not there")
    })
}

/// Whether the dedup row is new.
async fn insert(
    connection: &mut SqliteConnection,
    claim: Claim<'_>,
    columns: Columns,
) -> Result<bool, StoreError> {
    let envelope = claim.envelope;
    let source = envelope.source().filter(|_| columns.source);
    let fingerprint = columns.fingerprint.then(|| Fingerprint::of(envelope.payload()).0);
    let inserted = sqlx::query(sql::CLAIM)
        .bind(claim.consumer)
        .bind(claim.message_id.as_bytes().as_slice())
        .bind(envelope.event_type())
        .bind(source)
        .bind(fingerprint.as_ref().map(|bytes| bytes.as_slice()))
        .execute(connection)
        .await
        .map_err(|error| failed("could not insert the dedup row", error))?;
    Ok(inserted.rows_affected() == 1)
}

/// The dedup row as `connection` sees it.
pub(crate) async fn find_on(
    connection: &mut SqliteConnection,
    consumer: &str,
    message_id: MessageId,
) -> Result<Option<Recorded>, StoreError> {
    type Row = (String, Option<String>, Option<Vec<u8>>, i64, bool);
    let row: Option<Row> = sqlx::query_as(sql::FIND)
        .bind(consumer)
        .bind(message_id.as_bytes().as_slice())
        .fetch_optional(connection)
        .await
        .map_err(|error| failed("could not look for the dedup row", error))?;
    Ok(row.map(|(event_type, source, fingerprint, age, skipped)| {
        let age = Duration::from_millis(u64::try_from(age).unwrap_or(0));
        let mut recorded = Recorded::new(event_type, age);
        recorded.source = source;
        recorded.skipped = skipped;
        recorded.fingerprint = fingerprint.and_then(|bytes| bytes.try_into().ok()).map(Fingerprint);
        recorded
    }))
}
