-- How often a message was begun that was delivered more than once, committed before each try: a message
-- that takes the process along leaves no other trace. The row goes when the message is settled.
CREATE TABLE inbox_attempts (
    consumer   TEXT    NOT NULL CHECK (length(consumer) BETWEEN 1 AND 200),
    message_id BLOB    NOT NULL CHECK (length(message_id) = 16),
    begun      INTEGER NOT NULL CHECK (begun >= 0),
    last_at    INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)), -- Unix, ms
    PRIMARY KEY (consumer, message_id)
) STRICT, WITHOUT ROWID;

-- Messages that were put away instead of processed. With a rowid, because payloads are large.
CREATE TABLE inbox_dead_letters (
    consumer   TEXT    NOT NULL CHECK (length(consumer) BETWEEN 1 AND 200),
    letter_key BLOB    NOT NULL CHECK (length(letter_key) = 16), -- the message's id, where it has a valid one
    message_id BLOB    CHECK (length(message_id) = 16),
    metadata   TEXT    NOT NULL, -- everything of the message but its payload, as JSON
    payload    BLOB    NOT NULL,
    reason     TEXT    NOT NULL,
    error      TEXT    NOT NULL,
    attempts   INTEGER NOT NULL,
    first_at   INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)), -- Unix, ms
    last_at    INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    PRIMARY KEY (consumer, letter_key)
) STRICT;

-- Listing goes from the oldest on.
CREATE INDEX inbox_dead_letters_by_age ON inbox_dead_letters (consumer, first_at, letter_key);

INSERT INTO inbox_migrations (version, name) VALUES (2, 'transports');
