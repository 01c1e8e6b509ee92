use super::{Mutation, of_postgres, of_the_suite_on_postgres};

const LEASE: &str = "inbox-postgres/src/lease.rs";
const UNIT: &str = "inbox-postgres/src/unit.rs";
const MIGRATION: &str = "inbox-postgres/migrations/0001_messages.sql";
const STORE: &str = "inbox-postgres/src/store.rs";

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        safeguard: "PostgreSQL: a connection is closed unless it was proven clean",
        file: LEASE,
        takes_out: "if !self.clean {",
        puts_in: "if false {",
        noticed_by: of_postgres("a5_dispatches_aborted_at_every_await_poison_no_connection"),
    },
    Mutation {
        safeguard: "PostgreSQL: the transaction is proven ours before COMMIT",
        file: MIGRATION,
        takes_out: "    done text;\nBEGIN\n    IF current_setting('inbox.guard', true) IS DISTINCT FROM 'on' THEN",
        puts_in: "    done text;\nBEGIN\n    IF false THEN",
        noticed_by: of_the_suite_on_postgres(
            "a_handler_that_rolls_back_and_begins_is_told_so_whatever_it_then_does",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL: the proof fails too where the mark was never set",
        file: MIGRATION,
        takes_out: "    done text;\nBEGIN\n    IF current_setting('inbox.guard', true) IS DISTINCT FROM 'on' THEN",
        puts_in: "    done text;\nBEGIN\n    IF current_setting('inbox.guard', true) <> 'on' THEN",
        noticed_by: of_postgres("a_handler_that_exchanges_the_connection_is_told"),
    },
    Mutation {
        safeguard: "PostgreSQL: a handler's COMMIT is refused by the deferred trigger",
        file: MIGRATION,
        takes_out: "IF current_setting('inbox.finish', true) IS DISTINCT FROM 'on' THEN",
        puts_in: "IF false THEN",
        noticed_by: of_postgres("a_handlers_commit_is_refused_by_the_database"),
    },
    Mutation {
        safeguard: "PostgreSQL: the transaction is proven ours between handlers and before a rollback",
        file: MIGRATION,
        takes_out: "prove() LANGUAGE plpgsql AS $$\nBEGIN\n    IF current_setting('inbox.guard', true) IS DISTINCT FROM 'on' THEN",
        puts_in: "prove() LANGUAGE plpgsql AS $$\nBEGIN\n    IF false THEN",
        noticed_by: of_the_suite_on_postgres(
            "a_later_handler_is_not_started_where_an_earlier_one_ended_the_transaction",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL: an escape is looked for where a handler failed too",
        file: UNIT,
        takes_out: "return Err(self.escape().await);",
        puts_in: "return Ok(());",
        noticed_by: of_the_suite_on_postgres(
            "a_handler_that_rolls_back_is_told_so_whatever_it_then_does",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL: a transaction that sqlx ended is no handler's escape",
        file: UNIT,
        takes_out: "self.was_ended_by_sqlx() && self.lease.connection().should_flush()",
        puts_in: "false && self.lease.connection().should_flush()",
        noticed_by: of_postgres("a_begin_that_failed_or_was_given_up_is_no_escape"),
    },
    Mutation {
        safeguard: "PostgreSQL: what was written after sqlx ended the transaction is told",
        file: UNIT,
        takes_out: "self.was_ended_by_sqlx() && self.lease.connection().should_flush()",
        puts_in: "self.was_ended_by_sqlx()",
        noticed_by: of_postgres("writes_after_a_begin_that_was_given_up_are_told_as_an_escape"),
    },
    Mutation {
        safeguard: "PostgreSQL: a connection with a leaked savepoint is closed",
        file: LEASE,
        takes_out: "if Manager::get_transaction_depth(self.connection()) == 1 {",
        puts_in: "if true {",
        noticed_by: of_postgres("a_leaked_savepoint_is_committed_whole_and_its_connection_closed"),
    },
    Mutation {
        safeguard: "PostgreSQL: what a handler gave up is read before anything is proven",
        file: UNIT,
        takes_out: "self.settle().await.map_err(|error| (false, error))?;",
        puts_in: "",
        noticed_by: of_postgres("a_statement_given_up_in_a_savepoint_loses_and_doubles_nothing"),
    },
    Mutation {
        safeguard: "PostgreSQL: a COMMIT that the server did not answer is unknown",
        file: UNIT,
        takes_out: "return CommitError::Unknown(told);",
        puts_in: "return CommitError::Refused(told);",
        noticed_by: of_postgres("a_commit_whose_answer_is_lost_is_found_to_be_processed"),
    },
    Mutation {
        safeguard: "PostgreSQL: a duplicate's handlers are not started",
        file: STORE,
        takes_out: "= answer else {",
        puts_in: "= answer.filter(|told| told.is_empty()) else {",
        noticed_by: of_the_suite_on_postgres(
            "a_pair_processed_before_is_skipped_and_its_handlers_are_not_started",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL: a claim never waits for a twin in the database",
        file: MIGRATION,
        takes_out: "IF pg_try_advisory_xact_lock(",
        puts_in: "IF NULL IS DISTINCT FROM (",
        noticed_by: of_postgres("a_twin_in_flight_parks_no_connection_and_is_then_skipped"),
    },
    Mutation {
        safeguard: "PostgreSQL: two schemas of one database have two locks",
        file: MIGRATION,
        takes_out: "hashtextextended('{schema}', 0)",
        puts_in: "hashtextextended('', 0)",
        noticed_by: of_postgres("two_inboxes_in_two_schemas_of_one_database_are_no_twins"),
    },
    Mutation {
        safeguard: "PostgreSQL: a row that can be seen is a duplicate, whoever has the lock",
        file: MIGRATION,
        takes_out: "    END IF;\n    SELECT {schema}.recorded(known) INTO answer",
        puts_in: "    ELSE\n        RETURN '{}';\n    END IF;\n    SELECT {schema}.recorded(known) INTO answer",
        noticed_by: of_postgres(
            "a_processed_message_is_skipped_although_another_duplicate_is_just_asking",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL: what a trigger says at COMMIT is not shown",
        file: UNIT,
        takes_out: "let told = commit_error(error);",
        puts_in: "let told = store_error(\"committing\", error);",
        noticed_by: of_postgres("what_a_deferred_trigger_says_of_its_row_is_not_shown"),
    },
    Mutation {
        safeguard: "PostgreSQL: a duplicate is a value, not an error",
        file: MIGRATION,
        takes_out: "\n            ON CONFLICT DO NOTHING;",
        puts_in: ";",
        noticed_by: of_the_suite_on_postgres(
            "a_pair_processed_before_is_skipped_and_its_handlers_are_not_started",
        ),
    },
    Mutation {
        safeguard: "PostgreSQL: `synchronous_commit = off` is set right",
        file: MIGRATION,
        takes_out: "IF current_setting('synchronous_commit') = 'off' THEN",
        puts_in: "IF false THEN",
        noticed_by: of_postgres("settings_hold_for_the_transaction_only"),
    },
    Mutation {
        safeguard: "PostgreSQL: a statement may not outlive the slowest handler",
        file: MIGRATION,
        takes_out: "done := set_config('statement_timeout', statement_limit::text, true);",
        puts_in: "NULL;",
        noticed_by: of_postgres("a_statement_timeout_bounds_what_a_handler_leaves_behind"),
    },
    Mutation {
        safeguard: "PostgreSQL: a silent session gives its claim back",
        file: MIGRATION,
        takes_out: "done := set_config('idle_in_transaction_session_timeout', idle_limit::text, true);",
        puts_in: "NULL;",
        noticed_by: of_postgres("settings_hold_for_the_transaction_only"),
    },
    Mutation {
        safeguard: "PostgreSQL: a held connection that died is replaced",
        file: STORE,
        takes_out: "if let Ok(claimed) = self.claim_in(unit, claim, slot).await {",
        puts_in: "{
                let claimed = self.claim_in(unit, claim, slot).await?;",
        noticed_by: of_postgres("a_held_connection_that_died_is_replaced_without_an_error"),
    },
    Mutation {
        safeguard: "PostgreSQL: a server without fsync is refused",
        file: "inbox-postgres/src/check.rs",
        takes_out: "unsafe_disk && !fsync_off_is_accepted,",
        puts_in: "unsafe_disk && false && !fsync_off_is_accepted,",
        noticed_by: of_postgres("a_server_without_fsync_is_refused_unless_it_is_accepted"),
    },
];
