//! How much a property test tries.

/// So many cases: `default` in every run of the tests, `full` with `INBOX_BATTERY=full`.
pub fn cases(default: u32, full: u32) -> u32 {
    match std::env::var("INBOX_BATTERY").as_deref() {
        Ok("full") => full,
        _ => default,
    }
}
