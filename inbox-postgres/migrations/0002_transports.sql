-- How often a message was begun that was delivered more than once, committed before each try: a message
-- that takes the process along leaves no other trace. The row goes when the message is settled.
CREATE TABLE {schema}.attempts (
    consumer   text        NOT NULL,
    message_id uuid        NOT NULL,
    begun      integer     NOT NULL CHECK (begun >= 0),
    last_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer, message_id)
);

COMMENT ON TABLE {schema}.attempts IS
    'Transactional inbox: tries of messages that were delivered more than once and are not settled.';

-- Messages that were put away instead of processed.
CREATE TABLE {schema}.dead_letters (
    consumer   text        NOT NULL,
    letter_key uuid        NOT NULL, -- the message's id, where it has a valid one
    message_id uuid,
    -- `json` and not `jsonb`: a message that nobody can use may hold what jsonb refuses.
    metadata   json        NOT NULL, -- everything of the message but its payload
    payload    bytea       NOT NULL,
    reason     text        NOT NULL,
    error      text        NOT NULL,
    attempts   integer     NOT NULL,
    first_at   timestamptz NOT NULL DEFAULT now(),
    last_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer, letter_key)
);

COMMENT ON TABLE {schema}.dead_letters IS
    'Transactional inbox: messages that were put away, whole, with the reason.';

-- Listing goes from the oldest on.
CREATE INDEX dead_letters_by_age ON {schema}.dead_letters (consumer, first_at, letter_key);

-- Marks a message processed on purpose. A delivery of it that runs just now is waited for.
CREATE FUNCTION {schema}.skip(consumer text, message_id uuid, reason text) RETURNS boolean
    LANGUAGE plpgsql AS $$
DECLARE
    done text;
BEGIN
    -- As a claim does: a claim never waits, and would wait for a row that is inserted without the lock.
    PERFORM pg_advisory_xact_lock({schema}.lock_key(skip.consumer, skip.message_id));
    done := set_config('inbox.finish', 'on', true);
    INSERT INTO {schema}.messages (consumer, message_id, event_type, skip_reason)
        VALUES (skip.consumer, skip.message_id, '', skip.reason)
        ON CONFLICT DO NOTHING;
    RETURN FOUND;
END
$$;
