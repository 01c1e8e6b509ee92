-- One row for each (consumer, message) that was processed, written in the transaction that holds the
-- handlers' writes. A row exists only for success, or for
-- an operator's recorded skip.
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
    -- Why an operator had the message skipped; its event type is then empty.
    skip_reason    text,
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
    FOR EACH ROW
    -- A batch, which says so with this setting, needs it for one of its rows. Both the setting and the
    -- trigger's turn at COMMIT are undone with the savepoint in which that row was inserted.
    WHEN (CASE current_setting('inbox.refusal', true)
              WHEN 'due' THEN false
              WHEN 'wanted' THEN set_config('inbox.refusal', 'due', true) = 'due'
              ELSE true
          END)
    EXECUTE FUNCTION {schema}.refuse_foreign_commit();

-- What a claim locks. Advisory locks are the whole database's, so the key holds the schema beside the
-- pair; each part seeds the next one's hash, so that no two pairs are spelt alike.
CREATE FUNCTION {schema}.lock_key(consumer text, message_id uuid) RETURNS bigint
    LANGUAGE sql IMMUTABLE AS $$
    SELECT uuid_hash_extended($2, hashtextextended($1, hashtextextended('{schema}', 0)))
$$;

-- What is told of a row that is there. An array of text, because the driver would have to ask for the
-- parts of any other compound type.
CREATE FUNCTION {schema}.recorded(known {schema}.messages) RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY[
        known.event_type,
        known.source,
        encode(known.fingerprint, 'hex'),
        extract(epoch FROM clock_timestamp() - known.processed_at)::text, -- its age in seconds
        known.skip_reason
    ]
$$;

-- Claims a pair without ever waiting, and answers NULL where the claim is won, the row where there is
-- one, and an empty array where a twin holds the pair.
--
-- The advisory lock tells a twin in flight from a new message: who has not got it inserts nothing, and
-- answers the row where it is there (the lock may be another duplicate's, just asking); who has it
-- inserts, or finds the row that a twin committed. It is released with the transaction. `ON CONFLICT DO
-- NOTHING` that conflicts takes no transaction id, writes no WAL and leaves no dead tuple and no line in
-- the server's log.
CREATE FUNCTION {schema}.claim(
    consumer text, message_id uuid, event_type text,
    statement_limit integer, idle_limit integer, -- milliseconds
    source text, occurred_at timestamptz, correlation_id text, causation_id text, fingerprint bytea
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    answer text[];
    done text;
BEGIN
    IF pg_try_advisory_xact_lock({schema}.lock_key(claim.consumer, claim.message_id)) THEN
        INSERT INTO {schema}.messages (consumer, message_id, event_type,
                source, occurred_at, correlation_id, causation_id, fingerprint)
            VALUES (claim.consumer, claim.message_id, claim.event_type,
                claim.source, claim.occurred_at, claim.correlation_id, claim.causation_id, claim.fingerprint)
            ON CONFLICT DO NOTHING;
        IF FOUND THEN
            -- What holds for this transaction only. The mark of an inbox's transaction, for `prove`:
            done := set_config('inbox.guard', 'on', true);
            -- off would let a crash lose what was answered `Ok`;
            IF current_setting('synchronous_commit') = 'off' THEN
                done := set_config('synchronous_commit', 'on', true);
            END IF;
            -- a statement may not outlive the longest handler's time, unless the session allows it less;
            IF current_setting('statement_timeout') = '0'
                OR current_setting('statement_timeout')::interval > statement_limit * interval '1 ms'
            THEN
                done := set_config('statement_timeout', statement_limit::text, true);
            END IF;
            -- a session that went silent (a dead host) gives its claim back.
            done := set_config('idle_in_transaction_session_timeout', idle_limit::text, true);
            RETURN NULL;
        END IF;
    END IF;
    SELECT {schema}.recorded(known) INTO answer FROM {schema}.messages AS known
        WHERE known.consumer = claim.consumer AND known.message_id = claim.message_id;
    RETURN coalesce(answer, '{}');
END
$$;

-- Proves that the transaction is the one in which the claim was made; where it is aborted, nothing runs
-- at all. `IS DISTINCT FROM`, because a plain comparison with an absent setting is NULL.
CREATE PROCEDURE {schema}.prove() LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('inbox.guard', true) IS DISTINCT FROM 'on' THEN
        RAISE EXCEPTION 'a handler ended the inbox''s transaction' USING ERRCODE = 'IBX02';
    END IF;
END
$$;

-- The same, and announces its COMMIT.
CREATE PROCEDURE {schema}.finish() LANGUAGE plpgsql AS $$
DECLARE
    done text;
BEGIN
    IF current_setting('inbox.guard', true) IS DISTINCT FROM 'on' THEN
        RAISE EXCEPTION 'a handler ended the inbox''s transaction' USING ERRCODE = 'IBX02';
    END IF;
    done := set_config('inbox.finish', 'on', true);
END
$$;
