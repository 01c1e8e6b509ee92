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

/// The statements that name the inbox's schema.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) claim: Text,
    pub(crate) find: Text,
}

impl Statements {
    pub(crate) fn new(schema: &SchemaName) -> Self {
        Self { claim: claim(schema).into(), find: find(&schema.quoted()).into() }
    }
}

/// Claims a pair without ever waiting in the database.
///
/// The advisory lock tells a twin in flight from a new message: who has not got it inserts nothing, and
/// answers `in flight` unless the row is there (the lock may be another duplicate's, just asking); who
/// has it inserts, or finds the row that a twin committed. It is released with the transaction.
/// Advisory locks are the whole database's: the key names the schema, the consumer and the id, of which
/// none can hold a space. `ON CONFLICT DO NOTHING` that conflicts takes no transaction id, writes no WAL
/// and leaves no dead tuple and no line in the server's log.
///
/// The last columns set what holds for this transaction only:
/// - `inbox.guard` marks it, for [`FINISH`];
/// - `synchronous_commit = off` would let a crash lose what was answered `Ok`;
/// - a statement may not outlive the longest handler's time, unless the session allows it less;
/// - a session that went silent (a dead host) gives its claim back when the handlers' time and a
///   margin have passed.
fn claim(schema: &SchemaName) -> String {
    let (name, schema) = (schema, schema.quoted());
    format!(
        "WITH lock AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtextextended('{name} ' || $1 || ' ' || $2::text, 0)) AS got
), fresh AS (
    INSERT INTO {schema}.messages
        (consumer, message_id, event_type, source, occurred_at, correlation_id, causation_id, fingerprint)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8 FROM lock WHERE got
    ON CONFLICT DO NOTHING
    RETURNING true
)
SELECT EXISTS (SELECT FROM fresh) AS fresh,
       known.event_type AS event_type,
       known.source AS source,
       known.fingerprint AS fingerprint,
       {AGE} AS age,
       set_config('inbox.guard', 'on', true),
       set_config('synchronous_commit',
           CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
                ELSE current_setting('synchronous_commit') END, true),
       set_config('statement_timeout',
           CASE WHEN current_setting('statement_timeout')::interval BETWEEN '1 ms' AND $9
                THEN current_setting('statement_timeout')
                ELSE (extract(epoch FROM $9) * 1000)::bigint::text END, true),
       set_config('idle_in_transaction_session_timeout',
           (extract(epoch FROM $10) * 1000 + 30000)::bigint::text, true)
FROM lock
LEFT JOIN {schema}.messages AS known ON known.consumer = $1 AND known.message_id = $2"
    )
}

/// Seconds since a known row was processed, by the database's clock.
const AGE: &str = "extract(epoch FROM clock_timestamp() - known.processed_at)::float8";

fn find(schema: &str) -> String {
    format!(
        "SELECT known.event_type AS event_type, known.source AS source,
       known.fingerprint AS fingerprint, {AGE} AS age
FROM {schema}.messages AS known WHERE known.consumer = $1 AND known.message_id = $2"
    )
}

/// Proves that the transaction is ours, or fails with 22P02 (it is not) or 25P02 (it is aborted);
/// where it fails, what follows in the same query is not executed. `IS DISTINCT FROM`, because a plain
/// comparison with an absent setting is NULL and raises nothing.
macro_rules! guarded {
    ($($then:literal)?) => {
        concat!(
            "SELECT (CASE WHEN current_setting('inbox.guard', true) IS DISTINCT FROM 'on' \
             THEN 'inbox: a handler ended the transaction' ELSE '1' END)::int; "
            $(, $then)?
        )
    };
}

/// The proof alone, between handlers.
pub(crate) const PROBE: &str = guarded!();

/// Proof, permission and commit in one round trip.
///
/// `AND CHAIN` opens a worker's next transaction. It is right for others too: sqlx still counts the
/// connection as in a transaction and will send a ROLLBACK, which does nothing in a chained one and
/// writes a warning to the server's log outside of one.
pub(crate) const FINISH: &str = guarded!("SET LOCAL inbox.finish = 'on'; COMMIT AND CHAIN");

/// Proof and rollback in one round trip.
pub(crate) const ROLLBACK: &str = guarded!("ROLLBACK AND CHAIN");

/// Ends a transaction in which no handler ran, or an aborted one, of which nothing can be asked.
pub(crate) const ROLLBACK_AND_CHAIN: &str = "ROLLBACK AND CHAIN";

/// Ends whatever transaction a handler left behind, and opens one of our own to look in.
pub(crate) const START_OVER: &str = "ROLLBACK; BEGIN";
