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
    claims(
        &schema,
        &format!(
            "SELECT CASE WHEN $9 THEN pg_try_advisory_xact_lock(hashtextextended($1, hashtextextended('{name} batches', 0)))
                ELSE true END AS got,
        set_config('inbox.guard', 'on', true),
        set_config('inbox.refusal', 'wanted', true),
        set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
            ELSE current_setting('synchronous_commit') END, true),
        set_config('statement_timeout', CASE WHEN current_setting('statement_timeout') = '0'
                OR current_setting('statement_timeout')::interval > $10 * interval '1 ms'
            THEN $10::text ELSE current_setting('statement_timeout') END, true),
        set_config('idle_in_transaction_session_timeout', $11::text, true)"
        ),
    )
}

/// Claims further messages in a batch's transaction.
pub(crate) fn claim_more(schema: &str) -> String {
    claims(schema, "SELECT true AS got")
}

/// Claims messages, and answers three kinds of rows: first whether there was a lane for them, then the ids
/// that are fresh, and, only where those are not all, each other id with what is `recorded` of it.
///
/// A batch is mostly fresh, and each row that is handed from one step of a plan to the next costs about as
/// much as its insertion. So nothing is joined to the given ids but in the last part, which is not
/// executed at all where every claim is won. A row that is there is looked up by a subquery of its own:
/// that keeps the planner to the primary key, also where it plans while the table is empty.
///
/// The rows are inserted in the order of their keys: two batches that inserted the same ones in two
/// orders would wait for each other. A column that is not kept is given as NULL, which `unnest` fills up.
fn claims(schema: &str, opening: &str) -> String {
    format!(
        "WITH opening AS MATERIALIZED (
    {opening}
), fresh AS (
    INSERT INTO {schema}.messages
        (consumer, message_id, event_type, source, occurred_at, correlation_id, causation_id, fingerprint)
    SELECT $1, given.*
    FROM opening CROSS JOIN unnest($2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::text[],
        $7::text[], $8::bytea[]) AS given (message_id, event_type, source, occurred_at, correlation_id,
        causation_id, fingerprint)
    WHERE CASE WHEN opening.got THEN pg_try_advisory_xact_lock({schema}.lock_key($1, message_id))
               ELSE false END
    ORDER BY message_id
    ON CONFLICT DO NOTHING
    RETURNING message_id
)
SELECT NULL::uuid, got, NULL::text[], now() FROM opening
UNION ALL
SELECT message_id, true, NULL, NULL FROM fresh
UNION ALL
SELECT message_id, false, (
    SELECT {schema}.recorded(known) FROM {schema}.messages AS known
    WHERE known.consumer = $1 AND known.message_id = given.message_id
), NULL
FROM unnest($2::uuid[]) AS given (message_id)
WHERE (SELECT count(*) FROM fresh) < cardinality($2::uuid[])
    AND message_id NOT IN (SELECT message_id FROM fresh)"
    )
}

/// Whether one of a batch's rows is there: one of its messages may be there by another transaction.
pub(crate) fn find_any(schema: &str) -> String {
    format!(
        "SELECT true FROM {schema}.messages \
         WHERE consumer = $1 AND message_id = ANY($2) AND processed_at = $3 LIMIT 1"
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
