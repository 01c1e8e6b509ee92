//! Every statement of the store, in the order of a message's life.
//!
//! The texts are made once for each store, because the schema's name is the application's choice. No
//! value ever stands in a text: a text for each message would be an entry for each message in
//! `pg_stat_statements`.

use std::sync::Arc;

use sqlx::AssertSqlSafe;

use crate::batch_sql;
use crate::schema::SchemaName;
use crate::transport_sql::TransportStatements;

/// A statement's text, cheap to hand to sqlx.
pub(crate) type Text = Arc<str>;

/// Only texts from this module are asserted safe: constants around a quoted schema name.
pub(crate) fn safe(text: &Text) -> AssertSqlSafe<Text> {
    AssertSqlSafe(Arc::clone(text))
}

/// The statements that name the inbox's schema. The functions are those of its migrations.
#[derive(Debug)]
pub(crate) struct Statements {
    /// Claims a pair without ever waiting in the database.
    pub(crate) claim: Text,
    /// Looks a pair up.
    pub(crate) find: Text,
    /// The proof alone, between handlers.
    pub(crate) probe: Text,
    /// A single message's transaction.
    pub(crate) single: Frame,
    /// A batch's transaction.
    pub(crate) batch: Frame,
    /// Opens a batch's transaction with its first claims.
    pub(crate) open_batch: Text,
    /// Claims further messages in it.
    pub(crate) claim_more: Text,
    /// The proof, and the first mark.
    pub(crate) first_mark: Text,
    /// The proof, and a mark in place of the one before.
    pub(crate) mark: Text,
    /// Whether one of a batch's rows is there.
    pub(crate) find_any: Text,
    /// Attempts and dead letters.
    pub(crate) transport: TransportStatements,
}

/// How a unit of work opens its transaction and ends it; each is a round trip.
#[derive(Debug)]
pub(crate) struct Frame {
    /// In the isolation level that the session has.
    pub(crate) begin: &'static str,
    /// In the transaction that a worker's last message has left; none where it serves as it is.
    pub(crate) resume: Option<&'static str>,
    /// Proof, permission and commit. Where the proof fails, what follows in the same query is not
    /// executed.
    ///
    /// `AND CHAIN` opens a worker's next transaction. It is right for others too: sqlx still counts the
    /// connection as in a transaction and will send a ROLLBACK, which does nothing in a chained one and
    /// writes a warning to the server's log outside of one.
    pub(crate) finish: Text,
    /// Proof and rollback.
    pub(crate) rollback: Text,
    /// Ends a transaction in which no handler ran, or an aborted one, of which nothing can be asked.
    pub(crate) abandon: &'static str,
    /// Opens the next one after a COMMIT that failed.
    pub(crate) begin_anew: &'static str,
}

impl Statements {
    pub(crate) fn new(name: &SchemaName) -> Self {
        let schema = name.quoted();
        Self {
            claim: format!("SELECT {schema}.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)").into(),
            find: format!(
                "SELECT {schema}.recorded(known) FROM {schema}.messages AS known \
                 WHERE known.consumer = $1 AND known.message_id = $2"
            )
            .into(),
            probe: format!("CALL {schema}.prove()").into(),
            single: Frame {
                begin: BEGIN,
                resume: None,
                finish: format!("CALL {schema}.finish(); COMMIT AND CHAIN").into(),
                rollback: format!("CALL {schema}.prove(); ROLLBACK AND CHAIN").into(),
                abandon: ROLLBACK_AND_CHAIN,
                begin_anew: BEGIN,
            },
            batch: batch_sql::frame(&schema),
            open_batch: batch_sql::open(name).into(),
            claim_more: batch_sql::claim_more(&schema).into(),
            first_mark: batch_sql::first_mark(&schema).into(),
            mark: batch_sql::mark(&schema).into(),
            find_any: batch_sql::find_any(&schema).into(),
            transport: TransportStatements::new(&schema),
        }
    }
}

/// Opens a transaction in which nothing is set.
pub(crate) const BEGIN: &str = "BEGIN";

/// The same, for what has to be durable when it is answered, whatever the session is content with.
pub(crate) const BEGIN_DURABLY: &str = "BEGIN; SELECT set_config('synchronous_commit', 'on', true) \
                                        WHERE current_setting('synchronous_commit') = 'off'";

/// Ends such a one.
pub(crate) const ROLLBACK_AND_CHAIN: &str = "ROLLBACK AND CHAIN";

/// Ends one of a few statements of our own.
pub(crate) const COMMIT_AND_CHAIN: &str = "COMMIT AND CHAIN";

/// Ends whatever transaction a handler left behind, and opens one of our own to look in.
pub(crate) const START_OVER: &str = "ROLLBACK; BEGIN";
