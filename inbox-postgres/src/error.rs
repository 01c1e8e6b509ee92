//! From sqlx's errors to the store's: by SQLSTATE, never by text, and never with DETAIL.

use std::error::Error;

use inbox::{Fault, StoreError};
use sqlx::postgres::{PgDatabaseError, PgSeverity};

/// The SQLSTATEs on which the store decides.
/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
pub(crate) mod sqlstate {
    pub(crate) const IN_FAILED_TRANSACTION: &str = "25P02";
    /// Ours: the transaction is not the one in which the claim was made.
    pub(crate) const NOT_OURS: &str = "IBX02";
    pub(crate) const INSUFFICIENT_PRIVILEGE: &str = "42501";
    pub(crate) const SERIALIZATION_FAILURE: &str = "40001";
    pub(crate) const DEADLOCK_DETECTED: &str = "40P01";
    pub(crate) const TOO_MANY_CONNECTIONS: &str = "53300";
}

/// The server's own error in an sqlx error, if it is one.
pub(crate) fn database_error(error: &sqlx::Error) -> Option<&PgDatabaseError> {
    error.as_database_error()?.try_downcast_ref()
}

pub(crate) fn has_code(error: &sqlx::Error, code: &str) -> bool {
    database_error(error).is_some_and(|error| error.code() == code)
}

/// Whether the server ended the session with this error, so that it says nothing of a COMMIT.
pub(crate) fn ends_the_session(error: &sqlx::Error) -> bool {
    match database_error(error) {
        Some(error) => matches!(error.severity(), PgSeverity::Fatal | PgSeverity::Panic),
        None => true,
    }
}

/// Whether the error says that a connection was lost, ours or a pooler's to the server: class 08. A
/// pooler answers so in the server's place, also while a COMMIT is in flight.
pub(crate) fn is_lost(error: &sqlx::Error) -> bool {
    database_error(error).is_none_or(|error| error.code().starts_with("08"))
}

/// What kind of failure an error is; `None` for errors that are not the database's.
pub(crate) fn fault_in(link: &(dyn Error + 'static)) -> Option<Fault> {
    if let Some(error) = link.downcast_ref::<sqlx::Error>() {
        return Some(fault(error));
    }
    link.downcast_ref::<PgDatabaseError>().map(|error| fault_of_code(error.code()))
}

fn fault(error: &sqlx::Error) -> Fault {
    match (error, database_error(error)) {
        (sqlx::Error::PoolTimedOut, _) => Fault::Busy,
        (_, Some(error)) => fault_of_code(error.code()),
        _ => Fault::Other,
    }
}

fn fault_of_code(code: &str) -> Fault {
    match code {
        sqlstate::SERIALIZATION_FAILURE | sqlstate::DEADLOCK_DETECTED => Fault::Serialization,
        sqlstate::TOO_MANY_CONNECTIONS => Fault::Busy,
        _ => Fault::Other,
    }
}

/// An error of one of the store's own statements: what it was doing, the server's message (the
/// primary one: DETAIL quotes rows), code and constraint.
pub(crate) fn store_error(doing: &str, error: sqlx::Error) -> StoreError {
    let told = match database_error(&error) {
        Some(server) => format!("{doing}: {}", server.message()),
        None => format!("{doing}: {}", without_values(&error)),
    };
    coded(told, error)
}

/// An error at COMMIT, where the application's deferred triggers speak and may quote rows: without
/// the server's message.
pub(crate) fn commit_error(error: sqlx::Error) -> StoreError {
    let told = match database_error(&error).map(PgDatabaseError::code) {
        Some(code) if code.starts_with("23") => {
            "a constraint that is checked at COMMIT is violated"
        }
        Some(code) if code.starts_with("40") => "the transaction lost against another",
        Some(_) => "the server refused",
        None => without_values(&error),
    };
    coded(format!("committing: {told}"), error)
}

fn coded(told: String, error: sqlx::Error) -> StoreError {
    let mut told = StoreError::new(fault(&error), told);
    if let Some(server) = database_error(&error) {
        told = told.with_code(server.code());
        if let Some(constraint) = server.constraint() {
            told = told.with_constraint(constraint);
        }
    }
    // Any other driver error as a source would show, to whoever prints the chain, what is left out
    // here: rows, and parts of the connection string.
    match error {
        sqlx::Error::Io(error) => told.with_source(error),
        _ => told,
    }
}

/// What a client-side error is; its own text may hold a connection string's parts.
fn without_values(error: &sqlx::Error) -> &'static str {
    match error {
        sqlx::Error::PoolTimedOut => {
            "the pool had no free connection within its acquire timeout; raise `max_connections`, or \
             dispatch fewer messages at once"
        }
        sqlx::Error::PoolClosed => "the pool is closed",
        sqlx::Error::Io(_) => "the connection was lost",
        sqlx::Error::Tls(_) => "the TLS handshake failed",
        sqlx::Error::Configuration(_) => "the connection's configuration is refused",
        sqlx::Error::Protocol(_) => "the server's answer was not understood",
        _ => "the driver failed",
    }
}
