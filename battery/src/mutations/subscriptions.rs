use super::{Mutation, of_the_core, of_the_suite, of_the_suite_on_postgres, of_the_transports};

const INTAKE: &str = "inbox/src/subscription/intake.rs";
const QUEUE: &str = "inbox/src/subscription/queue.rs";
const SETTLE: &str = "inbox/src/subscription/settle.rs";
const SETTLEMENT: &str = "inbox/src/settlement.rs";
const SHARED: &str = "inbox/src/subscription/shared.rs";
const TRY_APART: &str = "inbox/src/subscription/try_apart.rs";
const WORKER: &str = "inbox/src/subscription/worker.rs";

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        safeguard: "Subscriptions: a message is acknowledged after its commit",
        file: WORKER,
        takes_out: "let answers: Vec<Result<Outcome, DispatchError>> =",
        puts_in: "for waiting in &all {
            self.told(waiting.item.broker.ack()).await;
        }
        let answers: Vec<Result<Outcome, DispatchError>> =",
        noticed_by: of_the_transports(
            "a_message_whose_consumer_died_is_delivered_again_and_applied_once",
        ),
    },
    Mutation {
        safeguard: "Subscriptions: only `Ok` is acknowledged",
        file: SETTLEMENT,
        takes_out: "if error.is_permanent() {",
        puts_in: "if error.is_permanent() {
            return Settlement::Ack;
        }
        if error.is_permanent() {",
        noticed_by: of_the_core("every_ok_is_acknowledged_and_nothing_else"),
    },
    Mutation {
        safeguard: "Subscriptions: who had no chance is held, and never put away",
        file: SETTLEMENT,
        takes_out: "if !error.counts_attempt() {",
        puts_in: "if false && !error.counts_attempt() {",
        noticed_by: of_the_core("who_had_no_chance_is_held_and_never_put_away"),
    },
    Mutation {
        safeguard: "Subscriptions: what failed is put away at the limit",
        file: SETTLEMENT,
        takes_out: "self.limit().is_some_and(|limit| tried.attempts >= limit)",
        puts_in: "self.limit().is_some_and(|limit| tried.attempts > limit)",
        noticed_by: of_the_core("the_attempt_that_the_limit_allows_is_the_last"),
    },
    Mutation {
        safeguard: "Subscriptions: messages that failed together do not come back together",
        file: SETTLEMENT,
        takes_out: "spread(whole, tried.seed ^ u64::from(tried.attempts))",
        puts_in: "spread(whole, 0)",
        noticed_by: of_the_core("messages_that_failed_together_do_not_come_back_together"),
    },
    Mutation {
        safeguard: "Subscriptions: in an ordered lane what failed is held, not given back",
        file: SETTLEMENT,
        takes_out: "if tried.ordered { Settlement::Hold(wait) }",
        puts_in: "if false { Settlement::Hold(wait) }",
        noticed_by: of_the_transports("in_strict_order_nothing_overtakes_a_message_that_fails"),
    },
    Mutation {
        safeguard: "Subscriptions: of one lane one message is out at a time",
        file: QUEUE,
        takes_out: "!self.taken.contains(lane) && !passed.contains(lane)",
        puts_in: "!passed.contains(lane)",
        noticed_by: of_the_transports("in_strict_order_nothing_overtakes_a_message_that_fails"),
    },
    Mutation {
        safeguard: "Subscriptions: what is held is not overtaken in its lane",
        file: QUEUE,
        takes_out: "!self.taken.contains(lane) && !passed.contains(lane)",
        puts_in: "!self.taken.contains(lane)",
        noticed_by: of_the_transports("messages_of_one_key_are_in_order_and_keys_side_by_side"),
    },
    Mutation {
        safeguard: "Subscriptions: a message that was delivered before is tried apart",
        file: SHARED,
        takes_out: "unusable.is_some() || envelope.delivery_attempt().is_some_and(|n| n > 1)",
        puts_in: "unusable.is_some()",
        noticed_by: of_the_transports(
            "p5_a_message_that_kills_the_process_is_put_away_and_those_beside_it_are_not",
        ),
    },
    Mutation {
        safeguard: "Subscriptions: a later try is counted before it begins",
        file: TRY_APART,
        takes_out: "Ok((self.begin(message_id).await?, running))",
        puts_in: "let begun = self.consumer.store().begun(self.consumer.name(), message_id);
        Ok((begun.await?, running))",
        noticed_by: of_the_transports(
            "p5_a_message_that_kills_the_process_is_put_away_and_those_beside_it_are_not",
        ),
    },
    Mutation {
        safeguard: "Subscriptions: a message that never answers is put away",
        file: TRY_APART,
        takes_out: "is_some_and(|limit| begun > limit)",
        puts_in: "is_some_and(|_| false)",
        noticed_by: of_the_transports(
            "p5_a_message_that_kills_the_process_is_put_away_and_those_beside_it_are_not",
        ),
    },
    Mutation {
        safeguard: "Subscriptions: who had no chance has its begun try taken back",
        file: TRY_APART,
        takes_out: "        if had_no_chance {",
        puts_in: "        if false {",
        noticed_by: of_the_transports(
            "a_message_in_flight_or_without_a_connection_is_held_and_costs_no_attempt",
        ),
    },
    Mutation {
        safeguard: "Subscriptions: a first delivery that failed is counted",
        file: SETTLE,
        takes_out: "self.note(self.begin(message_id).await.map(|_| ()));",
        puts_in: "let _ = message_id;",
        noticed_by: of_the_transports(
            "p1_a_message_that_keeps_failing_is_put_away_after_its_attempts",
        ),
    },
    Mutation {
        safeguard: "Subscriptions: the tries of a processed message are forgotten",
        file: SETTLE,
        takes_out: "if let Some(message_id) = counted {
                    self.forget(message_id).await;",
        puts_in: "if let (Some(message_id), false) = (counted, true) {
                    self.forget(message_id).await;",
        noticed_by: of_the_transports("a_failed_message_is_delivered_again_after_about_its_wait"),
    },
    Mutation {
        safeguard: "Subscriptions: the tries of a message that was put away are forgotten",
        file: "inbox/src/subscription/put_away.rs",
        takes_out: "if let (Some(message_id), true) = (letter.message_id, acknowledged) {",
        puts_in: "if let (Some(message_id), false) = (letter.message_id, true) {",
        noticed_by: of_the_transports(
            "p1_a_message_that_keeps_failing_is_put_away_after_its_attempts",
        ),
    },
    Mutation {
        safeguard: "Subscriptions: no more is fetched than may be unsettled",
        file: INTAKE,
        takes_out: "return Some(most - unsettled);",
        puts_in: "return Some(most);",
        noticed_by: of_the_transports("no_more_is_fetched_than_may_be_unsettled"),
    },
    Mutation {
        safeguard: "Subscriptions: a stop finishes what was fetched",
        file: INTAKE,
        takes_out: "self.shared.close();",
        puts_in: "self.shared.close();
        self.workers.abort_all();",
        noticed_by: of_the_transports("a_graceful_stop_makes_no_redelivery"),
    },
    Mutation {
        safeguard: "Subscriptions: the stop of the inbox ends them",
        file: INTAKE,
        takes_out: "select(pin!(self.inbox_stop.stopping()), pin!(self.own_stop.cancelled())).await;",
        puts_in: "self.own_stop.cancelled().await;",
        noticed_by: of_the_transports(
            "the_stop_of_the_inbox_ends_its_subscriptions_and_waits_for_them",
        ),
    },
    Mutation {
        safeguard: "Subscriptions: an adapter's panic is not kept quiet",
        file: INTAKE,
        takes_out: "std::panic::resume_unwind(panic);",
        puts_in: "drop(panic);",
        noticed_by: of_the_transports("an_adapter_that_panics_ends_its_subscription_loudly"),
    },
    Mutation {
        safeguard: "Subscriptions: an adapter's panic ends the subscription",
        file: WORKER,
        takes_out: "if std::thread::panicking() {",
        puts_in: "if false {",
        noticed_by: of_the_transports("an_adapter_that_panics_ends_its_subscription_loudly"),
    },
    Mutation {
        safeguard: "Dead letters: a replayed one goes when its message is processed, not before",
        file: "inbox/src/replay.rs",
        takes_out: "match self.dispatch(&letter.envelope).await {",
        puts_in: "store.discard(self.name(), key).await.map_err(ReplayError::Store)?;
        match self.dispatch(&letter.envelope).await {
            Err(error) => Err(ReplayError::Dispatch(error)),",
        noticed_by: of_the_suite("p4_a_replayed_letter_goes_through_the_same_dedup_path_and_ends"),
    },
    Mutation {
        safeguard: "Dead letters: one without an id is known by all that it has",
        file: "inbox/src/dead_letter.rs",
        takes_out: "let metadata = metadata_of(envelope, None);
                let mut all",
        puts_in: "let metadata = metadata_of(envelope, envelope.delivery_attempt());
                let mut all",
        noticed_by: of_the_core(
            "a_message_without_an_id_is_one_letter_however_often_it_is_delivered",
        ),
    },
    Mutation {
        safeguard: "SQLite: that a message never answered hides no better reason",
        file: "inbox-sqlite/src/transport_sql.rs",
        takes_out: "THEN reason ELSE excluded.reason END",
        puts_in: "THEN excluded.reason ELSE excluded.reason END",
        noticed_by: of_the_suite("put_away_again_it_is_one_letter_and_keeps_the_better_reason"),
    },
    Mutation {
        safeguard: "Subscriptions: the broker hears of what is still worked on",
        file: INTAKE,
        takes_out: "keeper.spawn(keep(Arc::clone(&shared), self.name(), every));",
        puts_in: "let _ = every;",
        noticed_by: of_the_transports(
            "a_broker_hears_of_what_is_worked_on_and_of_nothing_that_is_settled",
        ),
    },
    Mutation {
        safeguard: "Subscriptions: a dead letter is durable before its message is acknowledged",
        file: "inbox/src/subscription/put_away.rs",
        takes_out: "let put_away = match self.shared.options.dead_letters {",
        puts_in: "self.told(broker.ack()).await;
        let put_away = match self.shared.options.dead_letters {",
        noticed_by: of_the_transports(
            "a_dead_letter_that_cannot_be_put_away_is_kept_and_only_that_is_tried_again",
        ),
    },
    Mutation {
        safeguard: "Subscriptions: a dead letter that could not be put away is kept",
        file: "inbox/src/subscription/put_away.rs",
        takes_out: "if let Err(error) = put_away {",
        puts_in: "if let (Err(error), false) = (put_away, true) {",
        noticed_by: of_the_transports(
            "a_dead_letter_that_cannot_be_put_away_is_kept_and_only_that_is_tried_again",
        ),
    },
    Mutation {
        safeguard: "Subscriptions: only the dead letter is tried again, not its message",
        file: "inbox/src/subscription/put_away.rs",
        takes_out: "waiting.item.letter = Some(letter);",
        puts_in: "drop(letter);",
        noticed_by: of_the_transports(
            "a_dead_letter_that_cannot_be_put_away_is_kept_and_only_that_is_tried_again",
        ),
    },
    Mutation {
        safeguard: "Subscriptions: a later try that cannot be counted is not begun",
        file: TRY_APART,
        takes_out: "return self.shared.hold(waiting, NO_COUNT);",
        puts_in: "let _ = NO_COUNT;
                1",
        noticed_by: of_the_transports("a_later_delivery_that_cannot_be_counted_is_not_begun"),
    },
    Mutation {
        safeguard: "Subscriptions: a database that never answers holds up no worker",
        file: SETTLE,
        takes_out: "timeout(ANSWER, told).await.unwrap_or_else(|_| Err(silent()))",
        puts_in: "let _ = silent;
    told.await",
        noticed_by: of_the_transports("a_later_delivery_that_cannot_be_counted_is_not_begun"),
    },
    Mutation {
        safeguard: "Subscriptions: a broker that never answers holds up no worker",
        file: SETTLE,
        takes_out: "timeout(ANSWER, told).await.unwrap_or_else(|_| Err(\"no answer from the broker\".into()))",
        puts_in: "told.await",
        noticed_by: of_the_transports("a_broker_that_never_answers_holds_up_no_worker"),
    },
    Mutation {
        safeguard: "Subscriptions: a stop waits for nothing that is held",
        file: SHARED,
        takes_out: "if state.is_closing
                    && let Some(taken) = state.queue.take_held()",
        puts_in: "if false
                    && let Some(taken) = state.queue.take_held()",
        noticed_by: of_the_transports("what_is_held_at_the_end_is_given_back_with_what_follows_it"),
    },
    Mutation {
        safeguard: "PostgreSQL: a begun try is committed",
        file: "inbox-postgres/src/transport.rs",
        takes_out: "lease.end(sql::COMMIT_AND_CHAIN,",
        puts_in: "lease.end(sql::ROLLBACK_AND_CHAIN,",
        noticed_by: of_the_suite_on_postgres("tries_are_counted_for_each_consumer_and_message"),
    },
    Mutation {
        safeguard: "PostgreSQL: that a message never answered hides no better reason",
        file: "inbox-postgres/src/transport_sql.rs",
        takes_out: "THEN known.reason ELSE excluded.reason END",
        puts_in: "THEN excluded.reason ELSE excluded.reason END",
        noticed_by: of_the_suite_on_postgres(
            "put_away_again_it_is_one_letter_and_keeps_the_better_reason",
        ),
    },
];
