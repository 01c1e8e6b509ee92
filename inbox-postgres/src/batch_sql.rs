//! The statements of a batch, in the order of its life.

use crate::schema::SchemaName;
use crate::sql::Frame;

/// How a batch's transaction opens and ends.
///
/// **Whoever ends it must not leave the next message's writes committing by themselves**: they would be
/// durable without a dedup row, and be made again. A proof between all messages would be a round trip
/// each. So a session is read-only while it has a batch, but for the batch's own transaction: outside of
/// it, and in any that a handler begins, writes are refused. What a ROLLBACK could take back has to be
/// committed before, hence the empty transaction in front; the end of the batch takes it back in its own
/// commit.
pub(crate) fn frame(schema: &str) -> Frame {
    Frame {
        begin: "BEGIN; SET default_transaction_read_only = on; COMMIT AND CHAIN",
        resume: Some("SET default_transaction_read_only = on; COMMIT AND CHAIN"),
        finish: format!(
            "CALL {schema}.finish(); SET default_transaction_read_only = off; COMMIT AND CHAIN"
        )
        .into(),
        rollback: format!(
            "CALL {schema}.prove(); ROLLBACK AND CHAIN; SET default_transaction_read_only = off; \
             COMMIT AND CHAIN"
        )
        .into(),
        abandon: "ROLLBACK AND CHAIN; SET default_transaction_read_only = off; COMMIT AND CHAIN",
        // A transaction keeps over COMMIT AND CHAIN what it is: it must not be read-only to begin with.
        begin_anew: "BEGIN READ WRITE; SET default_transaction_read_only = off; COMMIT AND CHAIN",
    }
}

/// Opens a batch's transaction: the consumer's lane, the first claims, and what holds for the
/// transaction, as in the function `claim`. Where the lane is asked for and is another batch's, nothing
/// is claimed.
pub(crate) fn open(schema: &SchemaName) -> String {
    let (name, schema) = (schema, schema.quoted());
    format!(
        "WITH lane AS MATERIALIZED (
    SELECT CASE WHEN $9 THEN pg_try_advisory_xact_lock(hashtextextended($1, hashtextextended('{name} batches', 0)))
                ELSE true END AS got
), settings AS MATERIALIZED (
    SELECT set_config('inbox.guard', 'on', true),
        set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
            ELSE current_setting('synchronous_commit') END, true),
        set_config('statement_timeout', CASE WHEN current_setting('statement_timeout') = '0'
                OR current_setting('statement_timeout')::interval > $10 * interval '1 ms'
            THEN $10::text ELSE current_setting('statement_timeout') END, true),
        set_config('idle_in_transaction_session_timeout', $11::text, true)
), given AS MATERIALIZED (
    SELECT given.*, CASE WHEN lane.got THEN pg_try_advisory_xact_lock({schema}.lock_key($1, message_id))
                         ELSE false END AS got
    FROM {GIVEN} CROSS JOIN lane
), {fresh}
SELECT lane.got, {ANSWER}
FROM lane CROSS JOIN settings LEFT JOIN given ON true {known}",
        fresh = fresh(&schema),
        known = known(&schema),
    )
}

/// Claims further messages in a batch's transaction.
pub(crate) fn claim_more(schema: &str) -> String {
    format!(
        "WITH given AS MATERIALIZED (
    SELECT given.*, pg_try_advisory_xact_lock({schema}.lock_key($1, message_id)) AS got FROM {GIVEN}
), {fresh}
SELECT true, {ANSWER}
FROM given {known}",
        fresh = fresh(schema),
        known = known(schema),
    )
}

/// The rows are inserted in the order of their keys: two batches that inserted the same ones in two
/// orders would wait for each other.
fn fresh(schema: &str) -> String {
    format!(
        "fresh AS (
    INSERT INTO {schema}.messages
        (consumer, message_id, event_type, source, occurred_at, correlation_id, causation_id, fingerprint)
    SELECT $1, message_id, event_type, source, occurred_at, correlation_id, causation_id, fingerprint
    FROM given WHERE got ORDER BY message_id
    ON CONFLICT DO NOTHING
    RETURNING message_id
)"
    )
}

/// A column that is not kept is given as NULL, which `unnest` fills up.
const GIVEN: &str = "unnest($2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], \
                     $7::text[], $8::bytea[]) WITH ORDINALITY AS given (message_id, event_type, source, \
                     occurred_at, correlation_id, causation_id, fingerprint, place)";

/// Whether the claim is won, and the row where there is one: what `recorded` tells of it, in columns.
const ANSWER: &str = "fresh.message_id IS NOT NULL, \
                      known.event_type, known.source, known.fingerprint, known.age, known.skipped";

/// The row is looked for only where the claim is lost, and one by one through the primary key, which
/// `OFFSET 0` keeps the planner to: a statement is planned once for a connection, perhaps while the table is
/// empty, and would go on reading all of it for each batch until the next `ANALYZE`.
fn known(schema: &str) -> String {
    format!(
        "LEFT JOIN fresh ON fresh.message_id = given.message_id
LEFT JOIN LATERAL (
    SELECT event_type, source, fingerprint, date_part('epoch', clock_timestamp() - processed_at) AS age,
           skip_reason IS NOT NULL AS skipped
    FROM {schema}.messages
    WHERE fresh.message_id IS NULL AND consumer = $1 AND message_id = given.message_id OFFSET 0
) AS known ON true
ORDER BY given.place"
    )
}

/// Whether one of a batch's rows is there.
pub(crate) fn find_any(schema: &str) -> String {
    format!(
        "SELECT true FROM {schema}.messages WHERE consumer = $1 AND message_id = ANY($2) LIMIT 1"
    )
}

/// Proves that the transaction is ours and alive, and sets the first mark.
pub(crate) fn first_mark(schema: &str) -> String {
    format!("CALL {schema}.prove(); SAVEPOINT inbox_mark")
}

/// The same, where an earlier mark is given up.
pub(crate) fn mark(schema: &str) -> String {
    format!("CALL {schema}.prove(); RELEASE SAVEPOINT inbox_mark; SAVEPOINT inbox_mark")
}

/// Undoes everything since the mark, also in an aborted transaction. The mark stays.
pub(crate) const UNDO: &str = "ROLLBACK TO SAVEPOINT inbox_mark";
