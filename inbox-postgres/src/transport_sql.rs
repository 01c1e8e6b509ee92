//! The statements of attempts and dead letters.

use crate::sql::Text;

/// The statements, with the schema's name in them.
#[derive(Debug)]
pub(crate) struct TransportStatements {
    pub(crate) begin: Text,
    pub(crate) take_back: Text,
    pub(crate) forget: Text,
    pub(crate) begun: Text,
    pub(crate) put_away: Text,
    pub(crate) list: Text,
    pub(crate) one: Text,
    pub(crate) discard: Text,
    pub(crate) skip: Text,
}

const COLUMNS: &str = "letter_key, message_id, metadata::text AS metadata, payload, reason, error, \
                       attempts, first_at, last_at";

impl TransportStatements {
    pub(crate) fn new(schema: &str) -> Self {
        Self {
            begin: format!(
                "INSERT INTO {schema}.attempts AS known (consumer, message_id, begun) \
                 VALUES ($1, $2, 1) ON CONFLICT (consumer, message_id) \
                 DO UPDATE SET begun = least(known.begun, 2147483646) + 1, last_at = now() \
                 RETURNING begun"
            )
            .into(),
            take_back: format!(
                "UPDATE {schema}.attempts SET begun = greatest(begun - 1, 0) \
                 WHERE consumer = $1 AND message_id = $2"
            )
            .into(),
            forget: format!(
                "DELETE FROM {schema}.attempts WHERE consumer = $1 AND message_id = $2"
            )
            .into(),
            begun: format!(
                "SELECT begun FROM {schema}.attempts WHERE consumer = $1 AND message_id = $2"
            )
            .into(),
            put_away: put_away(schema).into(),
            // NULLs for the first page: both comparisons are then unknown.
            list: format!(
                "SELECT {COLUMNS} FROM {schema}.dead_letters WHERE consumer = $1 \
                 AND ($2 IS NULL OR (first_at, letter_key) > ($2, $3)) \
                 ORDER BY first_at, letter_key LIMIT $4"
            )
            .into(),
            one: format!(
                "SELECT {COLUMNS} FROM {schema}.dead_letters WHERE consumer = $1 AND letter_key = $2"
            )
            .into(),
            discard: format!(
                "DELETE FROM {schema}.dead_letters WHERE consumer = $1 AND letter_key = $2"
            )
            .into(),
            skip: format!("SELECT {schema}.skip($1, $2, $3)").into(),
        }
    }
}

/// That a message never answered is said only where nothing better is known.
fn put_away(schema: &str) -> String {
    format!(
        "INSERT INTO {schema}.dead_letters AS known \
             (consumer, letter_key, message_id, metadata, payload, reason, error, attempts) \
         VALUES ($1, $2, $3, $4::json, $5, $6, $7, $8) \
         ON CONFLICT (consumer, letter_key) DO UPDATE SET \
             metadata = excluded.metadata, payload = excluded.payload, \
             reason = CASE WHEN excluded.reason = 'never-answered' \
                           THEN known.reason ELSE excluded.reason END, \
             error = CASE WHEN excluded.reason = 'never-answered' \
                          THEN known.error ELSE excluded.error END, \
             attempts = excluded.attempts, last_at = now()"
    )
}
