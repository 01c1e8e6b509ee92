//! The statements of attempts and dead letters.

pub(crate) const BEGIN_ATTEMPT: &str = "\
    INSERT INTO inbox_attempts (consumer, message_id, begun) VALUES (?1, ?2, 1) \
    ON CONFLICT (consumer, message_id) DO UPDATE SET begun = min(begun, 4294967294) + 1, \
        last_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) \
    RETURNING begun";

pub(crate) const TAKE_BACK: &str = "\
    UPDATE inbox_attempts SET begun = max(begun - 1, 0) WHERE consumer = ?1 AND message_id = ?2";

pub(crate) const FORGET: &str =
    "DELETE FROM inbox_attempts WHERE consumer = ?1 AND message_id = ?2";

pub(crate) const BEGUN: &str =
    "SELECT begun FROM inbox_attempts WHERE consumer = ?1 AND message_id = ?2";

/// That a message never answered is said only where nothing better is known.
pub(crate) const PUT_AWAY: &str = "\
    INSERT INTO inbox_dead_letters \
        (consumer, letter_key, message_id, metadata, payload, reason, error, attempts) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
    ON CONFLICT (consumer, letter_key) DO UPDATE SET \
        metadata = excluded.metadata, payload = excluded.payload, \
        reason = CASE WHEN excluded.reason = 'never-answered' \
                      THEN reason ELSE excluded.reason END, \
        error = CASE WHEN excluded.reason = 'never-answered' THEN error ELSE excluded.error END, \
        attempts = excluded.attempts, last_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/// NULLs for the first page.
pub(crate) const LIST: &str = "\
    SELECT letter_key, message_id, metadata, payload, reason, error, attempts, first_at, last_at \
    FROM inbox_dead_letters \
    WHERE consumer = ?1 AND (?2 IS NULL OR (first_at, letter_key) > (?2, ?3)) \
    ORDER BY first_at, letter_key LIMIT ?4";

pub(crate) const ONE: &str = "\
    SELECT letter_key, message_id, metadata, payload, reason, error, attempts, first_at, last_at \
    FROM inbox_dead_letters WHERE consumer = ?1 AND letter_key = ?2";

pub(crate) const DISCARD: &str =
    "DELETE FROM inbox_dead_letters WHERE consumer = ?1 AND letter_key = ?2";

pub(crate) const SKIP: &str = "\
    INSERT INTO inbox_messages (consumer, message_id, event_type, skip_reason) \
    VALUES (?1, ?2, '', ?3) ON CONFLICT (consumer, message_id) DO NOTHING";
