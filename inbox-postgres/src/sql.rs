//! Every statement of the store, in the order of a message's life.
//!
//! The texts are made once for each store, because the schema's name is the application's choice. No
//! value ever stands in a text: a text for each message would be an entry for each message in
//! `pg_stat_statements`.

use std::sync::Arc;

use sqlx::AssertSqlSafe;

use crate::schema::SchemaName;

/// A statement's text, cheap to hand to sqlx.
pub(crate) type Text = Arc<str>;

/// Only texts from this module are asserted safe: constants around a quoted schema name.
pub(crate) fn safe(text: &Text) -> AssertSqlSafe<Text> {
    AssertSqlSafe(Arc::clone(text))
}

/// Opens the unit of work, in the isolation level that the session has.
pub(crate) const BEGIN: &str = "BEGIN";

/// The statements that name the inbox's schema. The functions are those of its migrations.
#[derive(Debug)]
pub(crate) struct Statements {
    /// Claims a pair without ever waiting in the database.
    pub(crate) claim: Text,
    /// Looks a pair up.
    pub(crate) find: Text,
    /// The proof alone, between handlers.
    pub(crate) probe: Text,
    /// Proof, permission and commit in one round trip. Where the proof fails, what follows in the same
    /// query is not executed.
    ///
    /// `AND CHAIN` opens a worker's next transaction. It is right for others too: sqlx still counts the
    /// connection as in a transaction and will send a ROLLBACK, which does nothing in a chained one and
    /// writes a warning to the server's log outside of one.
    pub(crate) finish: Text,
    /// Proof and rollback in one round trip.
    pub(crate) rollback: Text,
}

impl Statements {
    pub(crate) fn new(schema: &SchemaName) -> Self {
        let schema = schema.quoted();
        Self {
            claim: format!("SELECT {schema}.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)").into(),
            find: format!(
                "SELECT {schema}.recorded(known) FROM {schema}.messages AS known \
                 WHERE known.consumer = $1 AND known.message_id = $2"
            )
            .into(),
            probe: format!("CALL {schema}.prove()").into(),
            finish: format!("CALL {schema}.finish(); COMMIT AND CHAIN").into(),
            rollback: format!("CALL {schema}.prove(); ROLLBACK AND CHAIN").into(),
        }
    }
}

/// Ends a transaction in which no handler ran, or an aborted one, of which nothing can be asked.
pub(crate) const ROLLBACK_AND_CHAIN: &str = "ROLLBACK AND CHAIN";

/// Ends whatever transaction a handler left behind, and opens one of our own to look in.
pub(crate) const START_OVER: &str = "ROLLBACK; BEGIN";
