use super::{Mutation, of_sqlite, of_the_suite};

const SQL: &str = "inbox-sqlite/src/sql.rs";
const UNIT: &str = "inbox-sqlite/src/unit.rs";
const WRITER: &str = "inbox-sqlite/src/writer.rs";

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        safeguard: "SQLite: a connection is closed unless it was proven clean",
        file: WRITER,
        takes_out: "        if self.dirty {\n",
        puts_in: "        if false {\n",
        noticed_by: of_sqlite(
            "a5_dropped_at_any_await_a_pool_of_one_works_on_and_keeps_both_or_neither",
        ),
    },
    Mutation {
        safeguard: "SQLite: the transaction is proven ours before COMMIT",
        file: SQL,
        takes_out: "\"RELEASE inbox_guard\"",
        puts_in: "\"SELECT 1\"",
        noticed_by: of_sqlite("a_handler_that_ends_the_transaction_and_returns_ok_is_found_out"),
    },
    Mutation {
        safeguard: "SQLite: a handler's COMMIT is refused by the commit hook",
        file: "inbox-sqlite/src/guard.rs",
        takes_out: "handle.set_commit_hook(move || commits.allows_commit());",
        puts_in: "handle.set_commit_hook(move || commits.allows_commit() || true);",
        noticed_by: of_sqlite("a_handlers_commit_is_refused_where_the_store_opened_the_database"),
    },
    Mutation {
        safeguard: "SQLite: a transaction that SQLite ended is no handler's escape",
        file: UNIT,
        takes_out: "last_code.is_some_and(may_end_the_transaction)",
        puts_in: "last_code.is_some_and(|_| false)",
        noticed_by: of_sqlite("a_full_disk_is_no_escape"),
    },
    Mutation {
        safeguard: "SQLite: a duplicate's handlers are not started",
        file: "inbox-sqlite/src/claim.rs",
        takes_out: "Ok(inserted.rows_affected() == 1)",
        puts_in: "Ok(inserted.rows_affected() < 2)",
        noticed_by: of_the_suite(
            "a_pair_processed_before_is_skipped_and_its_handlers_are_not_started",
        ),
    },
    Mutation {
        safeguard: "SQLite: a duplicate is a value, not an error",
        file: SQL,
        takes_out: "    ON CONFLICT (consumer, message_id) DO NOTHING\";

/// A dedup row",
        puts_in: "    \";

/// A dedup row",
        noticed_by: of_the_suite(
            "a_pair_processed_before_is_skipped_and_its_handlers_are_not_started",
        ),
    },
    Mutation {
        safeguard: "SQLite: the lock is taken before anything is read",
        file: SQL,
        takes_out: "\"BEGIN IMMEDIATE; SAVEPOINT inbox_guard\"",
        puts_in: "\"BEGIN; SAVEPOINT inbox_guard\"",
        noticed_by: of_sqlite("the_tables_are_created_after_a_writer_that_was_there_before"),
    },
    Mutation {
        safeguard: "SQLite: `synchronous` below FULL is refused",
        file: "inbox-sqlite/src/schema.rs",
        takes_out: "(0 | 1, _) => Some(format!(",
        puts_in: "(0, _) => Some(format!(",
        noticed_by: of_sqlite("settings_that_endanger_the_promise_are_refused_with_their_remedy"),
    },
    Mutation {
        safeguard: "SQLite: a file the store opens is durable",
        file: "inbox-sqlite/src/open.rs",
        takes_out: ".synchronous(SqliteSynchronous::Full)",
        puts_in: ".synchronous(SqliteSynchronous::Normal)",
        noticed_by: of_sqlite("a_file_the_store_opens_is_durable"),
    },
    Mutation {
        safeguard: "SQLite: a leaked savepoint does not keep the commit from being sent",
        file: WRITER,
        takes_out: "            1 => Transactions::commit(&mut self.connection).await,",
        puts_in: "            1.. => Transactions::commit(&mut self.connection).await,",
        noticed_by: of_sqlite("a_leaked_savepoint_is_committed_as_a_whole"),
    },
    Mutation {
        safeguard: "SQLite: a statement that outlives its handler is stopped",
        file: WRITER,
        takes_out: "guard.iter().for_each(CommitGuard::interrupt);",
        puts_in: "",
        noticed_by: of_sqlite(
            "a_statement_that_outlives_its_handler_is_stopped_and_nobody_is_blamed",
        ),
    },
];
