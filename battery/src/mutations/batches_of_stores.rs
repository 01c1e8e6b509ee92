use super::{Mutation, of_postgres, of_sqlite, of_the_suite, of_the_suite_on_postgres};

const POSTGRES: &str = "inbox-postgres/src/batch_sql.rs";
const SQLITE: &str = "inbox-sqlite/src/sql.rs";

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        safeguard: "PostgreSQL, batches: the lane is locked for all processes",
        file: POSTGRES,
        takes_out: "SELECT CASE WHEN $9 THEN",
        puts_in: "SELECT CASE WHEN NOT $9 THEN",
        noticed_by: of_the_suite_on_postgres(
            "a_batch_of_another_process_does_not_start_while_one_runs",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL, batches: a claim never waits for a twin in the database",
        file: POSTGRES,
        takes_out: "CASE WHEN opening.got THEN pg_try_advisory_xact_lock({schema}.lock_key($1, message_id))",
        puts_in: "CASE WHEN opening.got THEN true",
        noticed_by: of_the_suite_on_postgres(
            "a_twin_in_flight_is_told_at_once_and_the_others_are_processed",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL, batches: nothing is written outside of the batch's transaction",
        file: POSTGRES,
        takes_out: "begin: \"BEGIN; SET default_transaction_read_only = on; COMMIT AND CHAIN\",",
        puts_in: "begin: \"BEGIN\",",
        noticed_by: of_postgres(
            "a_handler_that_ends_the_transaction_of_a_batch_makes_nobodys_writes_durable",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL, batches: the session writes again after a commit",
        file: POSTGRES,
        takes_out: "CALL {schema}.finish(); SET default_transaction_read_only = off; COMMIT AND CHAIN",
        puts_in: "CALL {schema}.finish(); COMMIT AND CHAIN",
        noticed_by: of_postgres("however_a_batch_ends_its_connection_writes_again"),
    },
    Mutation {
        safeguard: "PostgreSQL, batches: a transaction claims five hundred messages at most",
        file: "inbox-postgres/src/batch.rs",
        takes_out: "const LIMIT: usize = 500;",
        puts_in: "const LIMIT: usize = 5_000;",
        noticed_by: of_postgres("a_transaction_claims_five_hundred_messages_at_most"),
    },
    Mutation {
        safeguard: "PostgreSQL, batches: nor does a claim of a further part",
        file: POSTGRES,
        takes_out: "CASE WHEN opening.got THEN pg_try_advisory_xact_lock({schema}.lock_key($1, message_id))",
        puts_in: "CASE WHEN opening.got THEN true",
        noticed_by: of_the_suite_on_postgres(
            "a_twin_in_flight_is_told_at_once_where_a_poison_parts_the_batch",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL, batches: `synchronous_commit = off` is set right",
        file: POSTGRES,
        takes_out: "WHEN 'off' THEN 'on'",
        puts_in: "WHEN 'off' THEN 'off'",
        noticed_by: of_postgres("settings_hold_for_the_transaction_of_a_batch_only"),
    },
    Mutation {
        safeguard: "PostgreSQL, batches: a silent session gives its claims back",
        file: POSTGRES,
        takes_out: "set_config('idle_in_transaction_session_timeout', $11::text, true)",
        puts_in: "$11::integer",
        noticed_by: of_postgres("settings_hold_for_the_transaction_of_a_batch_only"),
    },
    Mutation {
        safeguard: "PostgreSQL, batches: a statement may not outlive the slowest handler",
        file: POSTGRES,
        takes_out: "THEN $10::text ELSE",
        puts_in: "THEN current_setting('statement_timeout') ELSE",
        noticed_by: of_postgres("a_statement_timeout_bounds_what_a_handler_leaves_behind"),
    },
    Mutation {
        safeguard: "PostgreSQL, batches: one of the rows refuses a handler's COMMIT",
        file: "inbox-postgres/migrations/0001_messages.sql",
        takes_out: "set_config('inbox.refusal', 'due', true) = 'due'",
        puts_in: "set_config('inbox.refusal', 'due', true) = ''",
        noticed_by: of_postgres(
            "a_handlers_commit_is_refused_also_after_an_undone_part_and_after_a_batch",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL, batches: the row of another transaction is no sign of a COMMIT",
        file: POSTGRES,
        takes_out: " AND processed_at = $3 LIMIT 1",
        puts_in: " AND $3::timestamptz IS NOT NULL LIMIT 1",
        noticed_by: of_postgres(
            "who_lost_its_claim_by_anothers_rollback_is_not_told_that_it_escaped",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL, batches: one without a statement for long asks how it stands",
        file: "inbox-postgres/src/unit.rs",
        takes_out: "|| self.proven.elapsed() > IDLE",
        puts_in: "|| self.proven.elapsed() > IDLE * 100",
        noticed_by: of_postgres(
            "a_batch_that_has_no_statement_for_long_asks_how_its_transaction_stands",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL, batches: through a pooler each message is proven",
        file: "inbox-postgres/src/unit.rs",
        takes_out: "!many.has_the_session() ||",
        puts_in: "false ||",
        noticed_by: of_postgres(
            "through_a_pooler_each_message_of_a_batch_is_proven_and_no_session_is_changed",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL: who skips a message locks it as a claim does",
        file: "inbox-postgres/migrations/0002_transports.sql",
        takes_out: "PERFORM pg_advisory_xact_lock({schema}.lock_key(skip.consumer, skip.message_id));",
        puts_in: "PERFORM 1;",
        noticed_by: of_postgres("a_skip_that_is_not_committed_holds_up_nobody_but_its_message"),
    },
    Mutation {
        safeguard: "SQLite, batches: the transaction is proven ours after each message",
        file: SQLITE,
        takes_out: "\"RELEASE inbox_mark; SAVEPOINT inbox_mark; SAVEPOINT inbox_guard\"",
        puts_in: "\"SAVEPOINT inbox_mark; SAVEPOINT inbox_guard\"",
        noticed_by: of_the_suite(
            "a_message_that_ends_the_transaction_is_isolated_whatever_it_then_does",
        ),
    },
    Mutation {
        safeguard: "SQLite, batches: what a message wrote is undone to the mark before it",
        file: SQLITE,
        takes_out: "\"ROLLBACK TO inbox_mark; SAVEPOINT inbox_guard\"",
        puts_in: "\"SELECT 1\"",
        noticed_by: of_the_suite("a_message_whose_handler_fails_is_isolated"),
    },
    Mutation {
        safeguard: "SQLite, batches: a statement that outlives its handler is stopped",
        file: "inbox-sqlite/src/writer.rs",
        takes_out: "        self.stop_statements().await;
        sqlx::raw_sql(sql::UNDO)",
        puts_in: "        sqlx::raw_sql(sql::UNDO)",
        noticed_by: of_sqlite(
            "a_statement_that_outlives_its_handler_is_stopped_where_a_part_is_undone",
        ),
    },
];
