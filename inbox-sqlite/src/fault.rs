//! SQLite's failures, by their codes: <https://www.sqlite.org/rescode.html>.

use std::error::Error;

use inbox::{Fault, StoreError};
use sqlx::sqlite::SqliteError;

/// No such savepoint, among others: what a statement that compiles answers when it makes no sense.
pub(crate) const GENERIC: i32 = 1;
/// A commit hook turned the commit into a rollback.
pub(crate) const COMMIT_HOOK: i32 = 531;

/// The failure while `doing`, in SQLite's words and with its extended code. SQLite names tables and
/// columns in its messages, never a value.
pub(crate) fn failed(doing: &str, error: sqlx::Error) -> StoreError {
    if matches!(error, sqlx::Error::PoolTimedOut) {
        let message = format!("{doing}: the pool had no free connection within its timeout");
        return StoreError::new(Fault::Busy, message).with_source(error);
    }
    match (sqlite_code(&error), error.as_database_error()) {
        (Some(code), Some(database)) => {
            let message = format!("{doing}: {}", database.message());
            StoreError::new(fault(code), message).with_code(code.to_string()).with_source(error)
        }
        _ => StoreError::new(Fault::Other, format!("{doing}: {error}")).with_source(error),
    }
}

/// SQLite's own failure in one link of an error's chain.
pub(crate) fn fault_in(error: &(dyn Error + 'static)) -> Option<Fault> {
    match error.downcast_ref::<sqlx::Error>() {
        Some(error) => sqlite_code(error).map(fault),
        None => error.downcast_ref::<SqliteError>().map(|error| fault(code(error))),
    }
}

/// The extended code of a failure that SQLite itself answered; `None` for one of the driver's.
pub(crate) fn sqlite_code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.try_downcast_ref::<SqliteError>().map(code)
}

/// sqlx shows the code as text only.
pub(crate) fn code(error: &SqliteError) -> i32 {
    use sqlx::error::DatabaseError;
    error.code().and_then(|code| code.parse().ok()).unwrap_or(GENERIC)
}

/// Whether SQLite ends a transaction by itself on this failure: NOMEM, BUSY, INTERRUPT, IOERR, FULL
/// (<https://www.sqlite.org/lang_transaction.html>, section 2.3).
pub(crate) fn may_end_the_transaction(code: i32) -> bool {
    matches!(primary(code), 5 | 7 | 9 | 10 | 13)
}

fn fault(code: i32) -> Fault {
    match primary(code) {
        5 | 6 => Fault::Busy, // BUSY and LOCKED: 5, 6, 261, 262, 517, …
        _ => Fault::Other,
    }
}

/// The low byte says what it is, the others in which case.
fn primary(code: i32) -> i32 {
    code & 0xff
}

/// Whether waiting may help.
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    sqlite_code(error).map(fault) == Some(Fault::Busy)
}
