-- The tables of the inbox. Forward only: a published file is never edited, a change is a new file.
-- Each file records itself, so an application may also run it with a migration tool of its own.

-- Which files were applied. Ours alone: the application's own migrations live in tables of its own.
CREATE TABLE inbox_migrations (
    version    INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL,
    applied_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)) -- Unix, ms
) STRICT;

-- One row for each message a consumer has processed, written in the transaction that holds the
-- handlers' writes. The primary key is the guard against a second run.
--
-- WITHOUT ROWID: the key is the table, so a claim is one look-up and one write, not two.
CREATE TABLE inbox_messages (
    consumer     TEXT    NOT NULL CHECK (length(consumer) BETWEEN 1 AND 200),
    message_id   BLOB    NOT NULL CHECK (length(message_id) = 16),
    event_type   TEXT    NOT NULL CHECK (length(event_type) <= 255), -- empty where it was skipped
    processed_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)), -- Unix, ms
    source       TEXT    CHECK (length(CAST(source AS BLOB)) <= 1024), -- kept where the application asks for it
    fingerprint  BLOB    CHECK (length(fingerprint) = 16),             -- likewise
    skip_reason  TEXT,                                                 -- why an operator had it skipped
    PRIMARY KEY (consumer, message_id)
) STRICT, WITHOUT ROWID;

INSERT INTO inbox_migrations (version, name) VALUES (1, 'messages');
