//! Every statement the store sends, in the order of a message's life.

/// The transaction and, inside it, the savepoint whose release proves at the end that it is still
/// the same transaction. IMMEDIATE: a deferred transaction that reads before it writes fails at
/// once when another writer was in between, whatever the busy timeout.
pub(crate) const BEGIN: &str = "BEGIN IMMEDIATE; SAVEPOINT inbox_guard";

/// The claim. A known pair changes no row and raises no error; the target is named so that no other
/// constraint is swallowed.
pub(crate) const CLAIM: &str = "\
    INSERT INTO inbox_messages (consumer, message_id, event_type, source, fingerprint) \
    VALUES (?1, ?2, ?3, ?4, ?5) \
    ON CONFLICT (consumer, message_id) DO NOTHING";

/// A dedup row with its age in milliseconds, both ends by the database's clock.
pub(crate) const FIND: &str = "\
    SELECT event_type, source, fingerprint, \
           max(0, CAST(unixepoch('subsec') * 1000 AS INTEGER) - processed_at), \
           skip_reason IS NOT NULL \
    FROM inbox_messages WHERE consumer = ?1 AND message_id = ?2";

/// Fails when the transaction is not the one that [`BEGIN`] opened: a COMMIT or a ROLLBACK takes
/// the savepoint along, and a BEGIN after it does not bring it back.
pub(crate) const PROVE: &str = "RELEASE inbox_guard";

/// The same, between handlers, with the savepoint set anew for those that follow.
pub(crate) const PROBE: &str = "RELEASE inbox_guard; SAVEPOINT inbox_guard";

/// A batch's transaction. The mark lies around the guard, which a proof between two handlers of one
/// message sets anew.
pub(crate) const BEGIN_BATCH: &str = "BEGIN IMMEDIATE; SAVEPOINT inbox_mark; SAVEPOINT inbox_guard";

/// In a batch, between two messages: the proof for the first, and the mark to which the second goes back.
pub(crate) const MARK: &str = "RELEASE inbox_mark; SAVEPOINT inbox_mark; SAVEPOINT inbox_guard";

/// Undoes what was done since the mark, which stays. Fails when the transaction is not ours.
pub(crate) const UNDO: &str = "ROLLBACK TO inbox_mark; SAVEPOINT inbox_guard";

/// The commit past sqlx's count of savepoints, for a transaction in which one was leaked.
pub(crate) const COMMIT: &str = "COMMIT";

/// The rollback past sqlx's count, of whatever transaction is open.
pub(crate) const ROLLBACK: &str = "ROLLBACK";

/// The files of `migrations/`, in order; the first is version 1.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_messages.sql"),
    include_str!("../migrations/0002_transports.sql"),
];

/// Whether the table of applied migrations is there.
pub(crate) const HAS_MIGRATIONS: &str =
    "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name = 'inbox_migrations'";

/// The newest applied migration.
pub(crate) const SCHEMA_VERSION: &str = "SELECT max(version) FROM inbox_migrations";

/// Compiles [`CLAIM`] without running it: fails where the table, a column or the key is missing.
pub(crate) const EXPLAIN_CLAIM: &str = "\
    EXPLAIN \
    INSERT INTO inbox_messages (consumer, message_id, event_type, source, fingerprint) \
    VALUES (?1, ?2, ?3, ?4, ?5) \
    ON CONFLICT (consumer, message_id) DO NOTHING";

/// The file of the main database; empty for one in memory.
pub(crate) const FILE: &str = "SELECT file FROM pragma_database_list WHERE name = 'main'";

/// 0 OFF, 1 NORMAL, 2 FULL, 3 EXTRA.
pub(crate) const SYNCHRONOUS: &str = "PRAGMA main.synchronous";

/// `wal`, `delete`, `truncate`, `persist`, `memory` or `off`.
pub(crate) const JOURNAL_MODE: &str = "PRAGMA main.journal_mode";

/// Turns write-ahead logging on, for ever: it is a property of the file.
pub(crate) const USE_WAL: &str = "PRAGMA journal_mode = WAL";
