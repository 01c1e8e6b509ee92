use super::{Mutation, of_the_core, of_the_suite, of_the_suite_on_postgres};

const DISPATCH: &str = "inbox/src/dispatch.rs";
const RUN: &str = "inbox/src/run.rs";
const ERROR: &str = "inbox/src/error.rs";
const ENVELOPE: &str = "inbox/src/envelope.rs";
const MESSAGE_ID: &str = "inbox/src/message_id.rs";

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        safeguard: "the nil id is refused",
        file: MESSAGE_ID,
        takes_out: "if uuid.is_nil() {",
        puts_in: "if false {",
        noticed_by: of_the_core("k5_missing_nil_blank_and_oversized_ids_are_refused"),
    },
    Mutation {
        safeguard: "a blank id is refused",
        file: MESSAGE_ID,
        takes_out: "text.trim().is_empty()",
        puts_in: "text.is_empty()",
        noticed_by: of_the_core("k5_missing_nil_blank_and_oversized_ids_are_refused"),
    },
    Mutation {
        safeguard: "only 36 characters are read as a UUID",
        file: MESSAGE_ID,
        takes_out: "if text.len() != 36 {",
        puts_in: "if false {",
        noticed_by: of_the_core("only_the_hyphenated_form_is_read_as_a_uuid"),
    },
    Mutation {
        safeguard: "a derived id counts the source's length in",
        file: MESSAGE_ID,
        takes_out: "name.extend_from_slice(&(part.len() as u32).to_be_bytes());",
        puts_in: "",
        noticed_by: of_the_core("length_prefixes_keep_source_and_id_apart"),
    },
    Mutation {
        safeguard: "a payload over the limit is refused",
        file: ENVELOPE,
        takes_out: "if size > limit {",
        puts_in: "if false {",
        noticed_by: of_the_suite("a_payload_over_the_limit_is_refused_and_one_at_the_limit_is_not"),
    },
    Mutation {
        safeguard: "every text field is checked",
        file: ENVELOPE,
        takes_out: "if let Some(text) = text {",
        puts_in: "if let (Some(text), false) = (text, field != \"source\") {",
        noticed_by: of_the_suite("a_blank_or_oversized_field_is_refused_naming_the_field"),
    },
    Mutation {
        safeguard: "an error never quotes the payload",
        file: "inbox/src/decode.rs",
        takes_out: "(refused.problem, path)",
        puts_in: "(error.to_string(), path)",
        noticed_by: of_the_core("no_error_quotes_the_payload"),
    },
    Mutation {
        safeguard: "the payload is decoded before anything is opened",
        file: DISPATCH,
        takes_out: "        let events = match decode_all(route, self.envelope) {",
        puts_in: "        let _ = self.claim().await?;
        let events = match decode_all(route, self.envelope) {",
        noticed_by: of_the_suite(
            "an_undecodable_payload_is_a_permanent_decode_error_that_says_where",
        ),
    },
    Mutation {
        safeguard: "an unreadable or unhandled message is looked up first",
        file: DISPATCH,
        takes_out: "failure: Failure) -> Result<Outcome, Failure> {\n        match self.find()",
        puts_in: "failure: Failure) -> Result<Outcome, Failure> {\n        return Err(failure);\n        match self.find()",
        noticed_by: of_the_suite("a_processed_message_whose_handler_is_gone_is_a_duplicate"),
    },
    Mutation {
        safeguard: "a twin in flight is asked for again",
        file: DISPATCH,
        takes_out: "Claimed::InFlight if Instant::now() < give_up =>",
        puts_in: "Claimed::InFlight if false && Instant::now() < give_up =>",
        noticed_by: of_the_suite("a_pair_in_flight_is_asked_for_again_until_it_is_free"),
    },
    Mutation {
        safeguard: "`InFlight` counts no attempt",
        file: ERROR,
        takes_out: "Failure::InFlight { .. } | Failure::ConsumerAmbiguous",
        puts_in: "Failure::ConsumerAmbiguous",
        noticed_by: of_the_suite("a_pair_in_flight_is_given_up_after_the_claim_wait"),
    },
    Mutation {
        safeguard: "a database without a free connection counts no attempt",
        file: ERROR,
        takes_out: "error.fault() != Fault::Busy",
        puts_in: "error.fault() != Fault::Serialization",
        noticed_by: of_the_suite("a_pool_without_a_free_connection_is_transient_and_not_counted"),
    },
    Mutation {
        safeguard: "the first handler that fails stops the rest",
        file: RUN,
        takes_out: "            }\n        };\n        run_one(handler, start, delivery).await?;",
        puts_in: "            }\n        };\n        let _ = run_one(handler, start, delivery).await;",
        noticed_by: of_the_suite("k2_the_first_failure_stops_the_rest_and_undoes_what_ran_before"),
    },
    Mutation {
        safeguard: "a run that failed is rolled back",
        file: DISPATCH,
        takes_out: "Err(failure) => match unit.rollback(self.slot).await {",
        puts_in: "Err(failure) => match unit.commit(self.slot).await.or(Err(crate::store::Escape::RolledBack)) {",
        noticed_by: of_the_suite(
            "a_handler_that_returns_err_is_rolled_back_with_the_original_as_source",
        ),
    },
    Mutation {
        safeguard: "a panic is caught",
        file: RUN,
        takes_out: "AssertUnwindSafe(&mut running).catch_unwind();",
        puts_in: "async { Ok::<_, Box<dyn Any + Send>>((&mut running).await) };",
        noticed_by: of_the_suite("a_handler_that_panics_is_rolled_back_with_the_panics_text"),
    },
    Mutation {
        safeguard: "a handler's time is bounded",
        file: RUN,
        takes_out: "tokio::time::timeout(handler.timeout, bounded)",
        puts_in: "tokio::time::timeout(std::time::Duration::MAX, bounded)",
        noticed_by: of_the_suite("a_handler_that_exceeds_its_timeout_is_rolled_back"),
    },
    Mutation {
        safeguard: "a deadline bounds the whole dispatch",
        file: DISPATCH,
        takes_out: "timeout_at(deadline, dispatch.run(route)).await.unwrap_or_else(",
        puts_in: "Ok::<_, ()>(dispatch.run(route).await).unwrap_or_else(",
        noticed_by: of_the_suite("a_claim_nobody_answers_ends_at_the_deadline"),
    },
    Mutation {
        safeguard: "an error marked permanent is found anywhere in the chain",
        file: "inbox/src/permanent.rs",
        takes_out: "chain(error).any(|link| link.is::<Marked>()",
        puts_in: "chain(error).take(1).any(|link| link.is::<Marked>()",
        noticed_by: of_the_core("the_mark_is_found_anywhere_and_the_original_stays_downcastable"),
    },
    Mutation {
        safeguard: "a serialization failure is retried inside",
        file: DISPATCH,
        takes_out: "const SERIALIZATION_RETRIES: u32 = 3;",
        puts_in: "const SERIALIZATION_RETRIES: u32 = 0;",
        noticed_by: of_the_suite("a_claim_that_fails_to_serialize_is_retried_inside"),
    },
    Mutation {
        safeguard: "a serialization failure is found inside a handler's error",
        file: DISPATCH,
        takes_out: "chain(error.as_ref()).any(|link|",
        puts_in: "chain(error.as_ref()).take(0).any(|link|",
        noticed_by: of_the_suite(
            "a_serialization_failure_inside_the_handlers_error_is_retried_inside",
        ),
    },
    Mutation {
        safeguard: "a worker waits without its connection",
        file: DISPATCH,
        takes_out: "        self.slot.clear();
        sleep(time).await;",
        puts_in: "        sleep(time).await;",
        noticed_by: of_the_suite_on_postgres("c5_a_retry_waits_without_a_connection"),
    },
    Mutation {
        safeguard: "no handler is started where an earlier one ended or aborted the transaction",
        file: RUN,
        takes_out: "prove(unit, earlier, context.deadline).await?;\n        }\n        let delivery = delivery(unit, handler, context);\n        let start = |delivery| match handler.call {\n            Call::Each(call) => call(event",
        puts_in: "let _ = earlier;\n        }\n        let delivery = delivery(unit, handler, context);\n        let start = |delivery| match handler.call {\n            Call::Each(call) => call(event",
        noticed_by: of_the_suite(
            "a_later_handler_is_not_started_where_an_earlier_one_ended_the_transaction",
        ),
    },
    Mutation {
        safeguard: "a look-up holds no second connection",
        file: DISPATCH,
        takes_out: "self.slot.clear(); // a dispatch holds at most one connection",
        puts_in: "",
        noticed_by: of_the_suite_on_postgres(
            "p3_an_undecodable_message_is_isolated_and_the_others_flow",
        ),
    },
    Mutation {
        safeguard: "a serialization failure that is marked permanent stays transient",
        file: ERROR,
        takes_out: "!conflicted && is_marked_permanent(error.as_ref())",
        puts_in: "!(conflicted & false) && is_marked_permanent(error.as_ref())",
        noticed_by: of_the_suite(
            "a_serialization_failure_marked_permanent_is_retried_and_stays_transient",
        ),
    },
    Mutation {
        safeguard: "a deadline that passes in a retry leaves no unknown commit",
        file: DISPATCH,
        takes_out: "self.commit_sent = false; // it was answered",
        puts_in: "",
        noticed_by: of_the_suite("a_deadline_that_passes_in_a_retry_is_no_unknown_commit"),
    },
    Mutation {
        safeguard: "a refused commit counts its attempt",
        file: DISPATCH,
        takes_out: "Err(Failure::Store(error.after_a_run())),",
        puts_in: "Err(Failure::Store(error)),",
        noticed_by: of_the_suite(
            "a_commit_refused_because_the_database_is_busy_counts_its_attempt",
        ),
    },
    Mutation {
        safeguard: "another message's row is no proof of a commit",
        file: DISPATCH,
        takes_out: "Some(_) => self.duplicate(recorded),",
        puts_in: "Some(_) => Ok(Outcome::Processed),",
        noticed_by: of_the_suite(
            "a_commit_without_answer_is_not_proven_by_the_row_of_another_message",
        ),
    },
    Mutation {
        safeguard: "a commit without an answer is not told as done",
        file: DISPATCH,
        takes_out: "Ok(Err(CommitError::Unknown(cause))) => self.find_out(Some(cause)).await,",
        puts_in: "Ok(Err(CommitError::Unknown(_))) => Ok(Outcome::Processed),",
        noticed_by: of_the_suite("a_commit_without_answer_whose_row_is_not_there_is_a_store_error"),
    },
    Mutation {
        safeguard: "a commit without an answer is not told as refused",
        file: DISPATCH,
        takes_out: "Ok(Err(CommitError::Unknown(cause))) => self.find_out(Some(cause)).await,",
        puts_in: "Ok(Err(CommitError::Unknown(cause))) => Err(Failure::Store(cause)),",
        noticed_by: of_the_suite("a_commit_without_answer_whose_row_is_there_is_processed"),
    },
    Mutation {
        safeguard: "what a deadline leaves of a commit is told as unknown",
        file: DISPATCH,
        takes_out: "        self.commit_sent = true;",
        puts_in: "",
        noticed_by: of_the_suite("a_commit_nobody_answers_for_until_the_deadline_is_unknown"),
    },
    Mutation {
        safeguard: "an id that is reused for another event is told",
        file: "inbox/src/duplicate.rs",
        takes_out: "if !consumer.is_one_event(",
        puts_in: "if false && !consumer.is_one_event(",
        noticed_by: of_the_suite(
            "an_id_reused_with_another_event_type_is_answered_by_policy_and_told",
        ),
    },
    Mutation {
        safeguard: "a stopping inbox takes no more",
        file: "inbox/src/stop.rs",
        takes_out: "(!self.is_stopping()).then_some(counted)",
        puts_in: "Some(counted)",
        noticed_by: of_the_suite(
            "a_stopping_inbox_takes_no_more_finishes_what_runs_and_tells_when_done",
        ),
    },
];
