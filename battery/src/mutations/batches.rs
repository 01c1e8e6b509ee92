use super::{Mutation, of_postgres, of_the_core, of_the_suite, of_the_suite_on_postgres};

const BATCH: &str = "inbox/src/batch.rs";
const FIND_OUT: &str = "inbox/src/batch/find_out.rs";
const OPEN: &str = "inbox/src/batch/open.rs";
const TRANSACTION: &str = "inbox/src/batch/transaction.rs";

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        safeguard: "Batches: no error of a shared run is final",
        file: TRANSACTION,
        takes_out: "ran.map_err(|failure| self.stumble(call, &failure))",
        puts_in: "ran.map_err(|failure| {
            let stumble = self.stumble(call, &failure);
            self.answer(members[0], Err(failure));
            stumble
        })",
        noticed_by: of_the_suite("a_copy_of_a_message_that_failed_has_the_same_error"),
    },
    Mutation {
        safeguard: "Batches: nor is an event that could not be decoded once more",
        file: TRANSACTION,
        takes_out: "Err(failure) => return Err(self.stumble(i..i + 1, &failure)),",
        puts_in: "Err(failure) => {
                    let stumble = self.stumble(i..i + 1, &failure);
                    self.answer(member, Err(failure));
                    return Err(stumble);
                }",
        noticed_by: of_the_suite_on_postgres("an_event_that_cannot_be_decoded_again_is_isolated"),
    },
    Mutation {
        safeguard: "Batches: a further copy takes the fate of the one that ran",
        file: BATCH,
        takes_out: "same.then(|| fate_of_a_copy(",
        puts_in: "(same && false).then(|| fate_of_a_copy(",
        noticed_by: of_the_suite("a_copy_of_a_message_that_failed_has_the_same_error"),
    },
    Mutation {
        safeguard: "Batches: another message under the id is no copy",
        file: BATCH,
        takes_out: "same.then(|| fate_of_a_copy(",
        puts_in: "(same || true).then(|| fate_of_a_copy(",
        noticed_by: of_the_suite("a_copy_with_another_event_type_or_body_is_an_id_used_again"),
    },
    Mutation {
        safeguard: "Batches: of several copies the first that can be read runs",
        file: BATCH,
        takes_out: "let Ok(events) = decode_all(route, envelope) else { continue };
            known.insert(message_id, place);",
        puts_in: "known.insert(message_id, place);
            let Ok(events) = decode_all(route, envelope) else { continue };",
        noticed_by: of_the_suite("of_two_copies_the_one_that_can_be_read_runs"),
    },
    Mutation {
        safeguard: "Batches: a message that was processed before is not run again",
        file: OPEN,
        takes_out: "PairAnswer::Duplicate(recorded) => self.answer_duplicate(member, recorded),",
        puts_in: "PairAnswer::Duplicate(_) => fresh.push(member),",
        noticed_by: of_the_suite(
            "c1_of_100_messages_with_k_duplicates_the_others_run_and_k_are_skipped",
        ),
    },
    Mutation {
        safeguard: "Batches: a message that another delivery holds is not run",
        file: OPEN,
        takes_out: "self.answer(member, Err(Failure::InFlight { waited: Duration::ZERO }));",
        puts_in: "fresh.push(member);",
        noticed_by: of_the_suite_on_postgres(
            "a_twin_in_flight_is_told_at_once_and_the_others_are_processed",
        ),
    },
    Mutation {
        safeguard: "Batches: one batch of a consumer runs at a time",
        file: OPEN,
        takes_out: "let exclusive = !S::EMBEDDED && !self.core.settings.parallel_batches;",
        puts_in: "let exclusive = false;",
        noticed_by: of_the_suite_on_postgres(
            "a_batch_of_another_process_does_not_start_while_one_runs",
        ),
    },
    Mutation {
        safeguard: "Batches: who waits too long for the lane goes on without it",
        file: OPEN,
        takes_out: "if Instant::now() >= give_up {",
        puts_in: "if false && Instant::now() >= give_up {",
        noticed_by: of_the_suite("a_batch_that_waits_too_long_is_dispatched_one_by_one"),
    },
    Mutation {
        safeguard: "Batches: duplicates do not wait for the lane",
        file: OPEN,
        takes_out: "self.settle_known(group, recorded);",
        puts_in: "drop(recorded);",
        noticed_by: of_the_suite_on_postgres("a_batch_of_duplicates_does_not_wait_for_its_turn"),
    },
    Mutation {
        safeguard: "Batches: claims that nobody answers end at the deadline",
        file: OPEN,
        takes_out: "timeout(self.slack, self.open_batch(&group.members, &claims, exclusive)).await;",
        puts_in: "Ok::<_, ()>(self.open_batch(&group.members, &claims, exclusive).await);",
        noticed_by: of_the_suite("claims_nobody_answers_end_at_the_deadline"),
    },
    Mutation {
        safeguard: "Batches: after a deadlock as many are never tried together again",
        file: OPEN,
        takes_out: "            self.pause = Some(wait);
        }
        Group::halves(members)",
        puts_in: "            self.pause = Some(wait);
            return vec![Group::new(members)];
        }
        Group::halves(members)",
        noticed_by: of_the_suite("a_deadlock_is_never_tried_again_with_as_many_messages"),
    },
    Mutation {
        safeguard: "Batches: a part that failed is undone",
        file: TRANSACTION,
        takes_out: "doubt != Doubt::None || bounded(self.slack, unit.undo()).await.is_err()",
        puts_in: "doubt != Doubt::None",
        noticed_by: of_the_suite("a_message_whose_handler_fails_is_isolated"),
    },
    Mutation {
        safeguard: "Batches: what ended well is marked before the next part",
        file: TRANSACTION,
        takes_out: "self.mark(unit).await.or_else(|doubt| of_all(part, doubt))",
        puts_in: "Ok(())",
        noticed_by: of_the_suite("a_message_whose_handler_fails_is_isolated"),
    },
    Mutation {
        safeguard: "Batches: told of two failures, nobody is trusted any more",
        file: "inbox/src/batch/group.rs",
        takes_out: "if failures < 2 { trusted.len() } else { 0 }",
        puts_in: "trusted.len()",
        noticed_by: of_the_core("two_failures_end_the_trust"),
    },
    Mutation {
        safeguard: "Batches: a commit without an answer is not told as done",
        file: FIND_OUT,
        takes_out: "Ok(Err(CommitError::Unknown(cause))) => self.find_out(kept, Some(cause), until).await,",
        puts_in: "Ok(Err(CommitError::Unknown(_))) => {
                self.processed(&kept);
                Vec::new()
            }",
        noticed_by: of_the_suite(
            "a_commit_of_a_batch_without_answer_whose_rows_are_not_there_is_run_again",
        ),
    },
    Mutation {
        safeguard: "Batches: a commit without an answer is not told as refused",
        file: FIND_OUT,
        takes_out: "Ok(Err(CommitError::Unknown(cause))) => self.find_out(kept, Some(cause), until).await,",
        puts_in: "Ok(Err(CommitError::Unknown(_))) => self.halve(&kept, false),",
        noticed_by: of_the_suite(
            "a_commit_of_a_batch_without_answer_whose_rows_are_there_is_processed",
        ),
    },
    Mutation {
        safeguard: "Batches: what nobody can say of a commit is told as unknown",
        file: FIND_OUT,
        takes_out: "for &member in &found.unknown {",
        puts_in: "for &member in &found.unknown[..0] {",
        noticed_by: of_the_suite("a_commit_of_a_batch_nobody_answers_for_is_unknown"),
    },
    Mutation {
        safeguard: "Batches: what a handler's COMMIT made durable is looked up",
        file: FIND_OUT,
        takes_out: "if escape != Escape::Committed {",
        puts_in: "if true {",
        noticed_by: of_the_suite(
            "a_message_that_ends_the_transaction_is_isolated_whatever_it_then_does",
        ),
    },
    Mutation {
        safeguard: "Batches: who waits holds no connection",
        file: BATCH,
        takes_out: "        self.slot.clear();
        sleep(time).await;",
        puts_in: "        sleep(time).await;",
        noticed_by: of_the_suite_on_postgres("who_waits_for_its_turn_gives_its_connection_back"),
    },
    Mutation {
        safeguard: "Batches: after a deadlock they wait",
        file: OPEN,
        takes_out: "self.pause = Some(wait);",
        puts_in: "let _ = wait;",
        noticed_by: of_the_suite_on_postgres(
            "who_waits_after_a_deadlock_gives_its_connection_back",
        ),
    },
    Mutation {
        safeguard: "Batches: who waits for a batch of its process holds no connection",
        file: OPEN,
        takes_out: "        self.slot.clear();
        match timeout_at(give_up",
        puts_in: "        match timeout_at(give_up",
        noticed_by: of_the_suite_on_postgres(
            "who_waits_for_a_batch_of_its_process_gives_its_connection_back",
        ),
    },
    Mutation {
        safeguard: "Batches: another message's row is no proof of a commit",
        file: FIND_OUT,
        takes_out: "Some(_) => self.answer_duplicate(member, recorded),",
        puts_in: "Some(_) => self.answer(member, Ok(Outcome::Processed)),",
        noticed_by: of_the_suite("a_commit_of_a_batch_is_not_proven_by_the_row_of_another_message"),
    },
    Mutation {
        safeguard: "Batches: who ran and then finds no connection counts the attempt",
        file: OPEN,
        takes_out: "Failure::Store(if ran { error.after_a_run() } else { error })",
        puts_in: "Failure::Store(if ran { error } else { error })",
        noticed_by: of_the_suite(
            "a_batch_that_ran_and_is_then_not_opened_again_counts_its_attempts",
        ),
    },
    Mutation {
        safeguard: "Batches: who ran and then gets no answer counts the attempt",
        file: OPEN,
        takes_out: "|ran| Failure::DeadlineExceeded { deadline, ran }",
        puts_in: "|_| Failure::DeadlineExceeded { deadline, ran: false }",
        noticed_by: of_the_suite(
            "a_batch_that_ran_and_is_then_not_opened_again_counts_its_attempts",
        ),
    },
    Mutation {
        safeguard: "Batches: a transaction has no more messages than its store allows",
        file: BATCH,
        takes_out: "let limit = S::BATCH_LIMIT.max(1);",
        puts_in: "let limit = usize::MAX;",
        noticed_by: of_postgres("a_transaction_claims_five_hundred_messages_at_most"),
    },
    Mutation {
        safeguard: "Batch handlers: one that failed is called with fewer",
        file: TRANSACTION,
        takes_out: "parts.put_back_in_halves(&part[suspects.clone()]);",
        puts_in: "",
        noticed_by: of_the_suite(
            "a_batch_handler_that_fails_is_called_with_fewer_until_the_poison_is_named",
        ),
    },
    Mutation {
        safeguard: "Batch handlers: a call is of one event, in the order of delivery",
        file: BATCH,
        takes_out: "route(start).takes_batches() && route(i).is_as(route(start));",
        puts_in: "route(i).takes_batches() && route(start).takes_batches();",
        noticed_by: of_the_suite(
            "a_batch_handler_is_called_once_for_messages_that_follow_each_other",
        ),
    },
    Mutation {
        safeguard: "Batch handlers: no later one is started where an earlier one ended the transaction",
        file: "inbox/src/run.rs",
        takes_out: "prove(unit, earlier, deadline).await?;
        }
        let its",
        puts_in: "let _ = earlier;
        }
        let its",
        noticed_by: of_the_suite(
            "a_later_batch_handler_is_not_started_where_an_earlier_one_ended_the_transaction",
        ),
    },
    Mutation {
        safeguard: "Batches: nobody goes back to a mark without an answer",
        file: TRANSACTION,
        takes_out: "Err(_) => Err(Doubt::Unmarked),",
        puts_in: "Err(_) => Err(Doubt::None),",
        noticed_by: of_the_suite("a_mark_without_an_answer_is_never_gone_back_to"),
    },
    Mutation {
        safeguard: "Batches: a proof between handlers is waited for no longer than the deadline",
        file: "inbox/src/run.rs",
        takes_out: "timeout_at(deadline.into(), unit.probe()).await;",
        puts_in: "Ok::<_, tokio::time::error::Elapsed>((deadline, timeout_at::<std::future::Ready<()>>, unit.probe().await).2);",
        noticed_by: of_the_suite("a_proof_between_handlers_without_an_answer_is_bounded"),
    },
    Mutation {
        safeguard: "Batches: handlers that go on hanging end a batch",
        file: BATCH,
        takes_out: "const TIMEOUTS: u32 = 2;",
        puts_in: "const TIMEOUTS: u32 = 2_000;",
        noticed_by: of_the_suite("two_handlers_that_hang_end_a_batch"),
    },
    Mutation {
        safeguard: "Batches: without a connection no further message is tried",
        file: BATCH,
        takes_out: "DispatchErrorKind::Store if !error.counts_attempt() =>",
        puts_in: "DispatchErrorKind::Store if false =>",
        noticed_by: of_the_suite("a_batch_that_finds_no_connection_apart_tries_no_further"),
    },
];
