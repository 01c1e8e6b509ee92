-- One row for each (consumer, message) that was processed, written in the transaction that holds the
-- handlers' writes. A row exists only for success.
CREATE TABLE {schema}.messages (
    consumer       text        NOT NULL,
    message_id     uuid        NOT NULL,
    event_type     text        NOT NULL,
    processed_at   timestamptz NOT NULL DEFAULT now(),
    -- Kept where the application asked for it (`keep_audit`, `keep_fingerprint`); NULLs take no room.
    source         text,
    occurred_at    timestamptz,
    correlation_id text,
    causation_id   text,
    fingerprint    bytea,
    -- The guard itself. The consumer comes first, so that one consumer's rows lie together and the
    -- time-ordered ids of UUIDv7 producers append to the right edge of its range.
    PRIMARY KEY (consumer, message_id)
);

COMMENT ON TABLE {schema}.messages IS
    'Transactional inbox: messages that were processed. Deleting a row lets its message be applied again.';

-- Refuses every COMMIT that the inbox did not announce: a handler that commits by itself would leave
-- a dedup row for work that was not finished, and the redelivery would be skipped. Deferred, so that
-- it runs at COMMIT and nowhere else.
CREATE FUNCTION {schema}.refuse_foreign_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('inbox.finish', true) IS DISTINCT FROM 'on' THEN
        RAISE EXCEPTION 'a handler may not end the inbox''s transaction'
            USING ERRCODE = 'IBX01',
                  HINT = 'Remove COMMIT from the handler. SET CONSTRAINTS ALL IMMEDIATE has this effect '
                         'too: name the constraints instead of ALL.';
    END IF;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER refuse_foreign_commit
    AFTER INSERT ON {schema}.messages
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION {schema}.refuse_foreign_commit();
