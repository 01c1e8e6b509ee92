//! What the database tells of a dedup row.

use std::time::Duration;

use inbox::{Fault, Fingerprint, Recorded, StoreError};

/// What the schema's functions tell of a row.
pub(crate) type Told = Vec<Option<String>>;

/// What is told of a row that is there. Nothing is told where a twin holds the pair.
pub(crate) fn recorded(told: Told) -> Result<Option<Recorded>, StoreError> {
    if told.is_empty() {
        return Ok(None);
    }
    let unread =
        || StoreError::new(Fault::Other, "a dedup row was told in a shape that is not known");
    read(told).map(Some).ok_or_else(unread)
}

fn read(told: Told) -> Option<Recorded> {
    let [event_type, source, fingerprint, age, skip_reason]: [_; 5] = told.try_into().ok()?;
    let mut recorded = Recorded::new(event_type?, age_of(age?.parse().ok()?));
    recorded.source = source;
    recorded.skipped = skip_reason.is_some();
    recorded.fingerprint = fingerprint.as_deref().and_then(fingerprint_of_hex);
    Some(recorded)
}

/// A clock that was set back makes a negative age, which `Duration` cannot hold.
fn age_of(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

fn fingerprint_of_hex(hex: &str) -> Option<Fingerprint> {
    let number = u128::from_str_radix(hex, 16).ok()?;
    Some(Fingerprint(number.to_be_bytes()))
}
