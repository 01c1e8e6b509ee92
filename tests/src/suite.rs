//! [`suite!`](crate::suite): the list of all tests, for one store.

use std::future::Future;

/// Runs one test on a runtime of its own, of one thread.
pub fn block_on<F: Future>(test: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().expect("a runtime").block_on(test)
}

/// Writes one `#[test]` for every test of the suite, on the store of this
/// [`Harness`](crate::Harness).
#[macro_export]
macro_rules! suite {
    ($harness:ty) => {
        $crate::tests! {
            $harness;
            batch::together: {
                a_batch_is_committed_in_one_transaction_in_the_order_of_delivery,
                an_empty_batch_opens_nothing,
                a_batch_of_one_is_a_dispatch,
                more_messages_than_a_transaction_takes_are_all_processed,
                several_handlers_of_each_message_run_in_their_order,
                a8_what_100_batches_at_once_wrote_is_all_there,
            }
            batch::poison: {
                p2_of_100_messages_with_one_poison_99_are_committed,
                a_message_whose_handler_fails_is_isolated,
                a_message_marked_permanent_is_isolated,
                a_message_whose_handler_panics_is_isolated,
                a_message_whose_handler_exceeds_its_timeout_is_isolated,
                a_message_with_a_unique_violation_is_isolated,
                a_message_with_a_deferred_violation_is_isolated,
                a_message_that_swallows_a_failed_statement_is_isolated,
                a_message_with_a_confined_failure_or_a_leaked_savepoint_is_processed,
                a_message_that_leaks_a_savepoint_and_fails_is_isolated,
                a_message_that_ends_the_transaction_is_isolated_whatever_it_then_does,
                an_innocent_message_is_never_blamed_for_an_aborted_transaction,
                of_a_message_whose_second_handler_fails_nothing_is_left_of_the_first,
                ten_poisons_of_100_of_every_kind_are_isolated,
                a_batch_of_poisons_only_is_answered_one_by_one,
            }
            batch::copies: {
                a_copy_of_a_message_that_committed_is_a_duplicate,
                a_copy_of_a_message_that_failed_has_the_same_error,
                a_copy_with_another_event_type_or_body_is_an_id_used_again,
                another_message_under_the_id_of_one_that_failed_is_run,
                of_two_copies_the_one_that_can_be_read_runs,
            }
            batch::claims: {
                c1_of_100_messages_with_k_duplicates_the_others_run_and_k_are_skipped,
                invalid_envelopes_are_answered_and_the_others_processed,
                p3_undecodable_and_unhandled_messages_are_isolated,
                unhandled_messages_are_ignored_in_a_batch_where_the_application_chose_so,
                an_event_that_cannot_be_decoded_again_is_isolated,
                a_twin_in_flight_is_told_at_once_and_the_others_are_processed,
                a_batch_that_is_in_flight_whole_opens_nothing_for_long,
                a_batch_without_a_connection_is_transient_and_not_counted,
                a_claim_that_fails_is_tried_again_in_halves,
                claims_nobody_answers_end_at_the_deadline,
                a_twin_in_flight_is_told_at_once_where_a_poison_parts_the_batch,
            }
            batch::commit: {
                a_refused_commit_of_a_batch_is_tried_again_in_halves,
                a_batch_of_which_every_commit_is_refused_is_answered_one_by_one,
                a_deadlock_is_never_tried_again_with_as_many_messages,
                a_deadlock_inside_a_handlers_error_is_tried_again_in_halves,
                a7_nothing_of_a_shared_run_survives_into_the_next,
                a_commit_of_a_batch_without_answer_whose_rows_are_there_is_processed,
                a_commit_of_a_batch_without_answer_whose_rows_are_not_there_is_run_again,
                a_commit_of_a_batch_nobody_answers_for_is_unknown,
                an_aborted_commit_blames_nobody_and_is_run_again_in_parts,
                an_escape_told_at_the_commit_of_a_batch_is_never_a_loss,
                a_commit_of_a_batch_is_not_proven_by_the_row_of_another_message,
                a_batch_that_ran_and_is_then_not_opened_again_counts_its_attempts,
            }
            batch::dropped: {
                a_batch_dropped_at_any_await_is_exactly_once_after_redelivery,
                a_batch_with_a_poison_dropped_at_any_await_is_exactly_once,
                a_stopping_inbox_takes_no_more_batches_and_finishes_what_runs,
            }
            batch::handlers: {
                a_batch_handler_is_called_once_for_messages_that_follow_each_other,
                a_batch_handler_in_any_order_is_called_once_for_a_batch,
                a_single_message_is_a_batch_of_one,
                a_batch_handler_that_fails_is_called_with_fewer_until_the_poison_is_named,
                a_batch_handler_skips_what_was_processed_and_takes_the_rest,
                several_batch_handlers_of_one_event_run_in_their_order,
                a_later_batch_handler_is_not_started_where_an_earlier_one_ended_the_transaction,
                batch_handlers_and_others_of_one_event_in_one_consumer_are_refused_at_build,
                a_batch_handler_that_takes_one_message_as_an_argument_is_refused_at_build,
            }
            batch::lane: {
                a_batch_waits_for_its_turn_without_a_connection,
                a_batch_that_waits_too_long_is_dispatched_one_by_one,
                a_batch_of_another_process_does_not_start_while_one_runs,
                a_batch_of_duplicates_does_not_wait_for_its_turn,
                who_waits_for_its_turn_gives_its_connection_back,
                who_waits_after_a_deadlock_gives_its_connection_back,
                who_waits_for_a_batch_of_its_process_gives_its_connection_back,
            }
            batch::silence: {
                a_mark_without_an_answer_is_never_gone_back_to,
                a_proof_between_handlers_without_an_answer_is_bounded,
                two_handlers_that_hang_end_a_batch,
                a_batch_that_finds_no_connection_apart_tries_no_further,
            }
            batch::mixed: {
                in_random_batches_the_oks_are_exactly_what_is_durable,
            }
            letters::attempts: {
                tries_are_counted_for_each_consumer_and_message,
                a_try_that_is_taken_back_is_not_counted_and_none_falls_below_zero,
                a_message_that_is_forgotten_begins_anew,
                a_counted_try_survives_whatever_becomes_of_the_dispatch,
            }
            letters::dead_letters: {
                a_dead_letter_is_kept_whole,
                a_message_that_nobody_can_use_is_kept_too,
                put_away_again_it_is_one_letter_and_keeps_the_better_reason,
                letters_are_listed_page_by_page_the_oldest_first,
                a_discarded_letter_is_gone,
                p4_a_replayed_letter_goes_through_the_same_dedup_path_and_ends,
                a_letter_whose_message_was_processed_meanwhile_is_skipped_at_its_replay,
            }
            letters::skip: {
                a_skipped_message_is_a_duplicate_from_then_on,
                a_skip_knows_no_event_type_so_no_id_is_used_again,
                a_processed_message_is_not_skipped,
                a_skip_without_a_reason_is_refused,
            }
            rows::commit: {
                a3_a_deferred_constraint_that_fails_at_commit_rolls_back_and_the_next_delivery_runs,
                a3_a_refused_commit_leaves_nothing_and_the_next_delivery_runs,
                a_commit_refused_because_the_database_is_busy_counts_its_attempt,
                what_the_store_says_of_a_commit_is_what_is_answered,
                a_commit_without_answer_whose_row_is_there_is_processed,
                a_commit_without_answer_whose_row_is_not_there_is_a_store_error,
                a_commit_nobody_answers_for_until_the_deadline_is_unknown,
                a_commit_being_found_out_about_waits_for_a_pair_that_is_held,
                a_commit_without_answer_is_not_proven_by_the_row_of_another_message,
            }
            rows::deadline: {
                a_claim_nobody_answers_ends_at_the_deadline,
                a_rollback_nobody_answers_ends_at_the_deadline_and_counts_the_run,
                a_look_up_that_fails_or_stalls_dead_letters_nothing,
                a_deadline_not_longer_than_the_handlers_timeouts_is_refused_at_build,
                a_deadline_beyond_all_clocks_is_none,
            }
            rows::decode: {
                an_undecodable_payload_is_a_permanent_decode_error_that_says_where,
                p3_an_undecodable_message_is_isolated_and_the_others_flow,
                a_processed_message_that_can_no_longer_be_read_is_a_duplicate,
                the_payload_is_decoded_once_for_each_handler_and_run,
            }
            rows::dropped: {
                a_dispatch_dropped_at_any_await_is_exactly_once_after_redelivery,
                a_dispatch_dropped_while_its_handler_runs_is_rolled_back,
                a_failing_dispatch_dropped_at_any_await_leaves_nothing,
            }
            rows::envelope: {
                k5_a_missing_nil_blank_or_oversized_id_is_refused_with_its_reason,
                a_blank_or_oversized_field_is_refused_naming_the_field,
                a_payload_over_the_limit_is_refused_and_one_at_the_limit_is_not,
                the_longest_allowed_texts_are_processed,
            }
            rows::escape: {
                a_handler_that_commits_is_told_so_whatever_it_then_does,
                a_handler_that_rolls_back_is_told_so_whatever_it_then_does,
                a_handler_that_commits_and_begins_is_told_so_whatever_it_then_does,
                a_handler_that_rolls_back_and_begins_is_told_so_whatever_it_then_does,
                a_handler_that_commits_and_chains_is_told_so_whatever_it_then_does,
                a_handler_that_rolls_back_and_chains_is_told_so_whatever_it_then_does,
            }
            rows::failed_statement: {
                a_handler_that_swallows_a_failed_statement_never_loses_its_message,
                a_failed_statement_confined_to_a_savepoint_leaves_the_rest_to_be_committed,
                an_innocent_later_handler_is_never_blamed_for_an_aborted_transaction,
            }
            rows::handler: {
                a_handler_that_returns_err_is_rolled_back_with_the_original_as_source,
                an_extractor_that_returns_err_is_the_handlers_error,
                an_error_marked_permanent_is_permanent,
                an_error_marked_permanent_behind_other_layers_is_permanent,
                an_extractors_error_marked_permanent_is_permanent,
                a_handler_that_panics_is_rolled_back_with_the_panics_text,
                a_panic_without_text_is_caught_too,
                a_handler_that_exceeds_its_timeout_is_rolled_back,
                a_handlers_own_unique_violation_is_never_taken_for_a_duplicate,
                a_connection_can_be_taken_only_once,
                a2_the_handlers_connection_is_the_one_that_holds_the_dedup_row,
                a9_err_panic_and_timeout_leave_no_row_and_reach_the_caller,
            }
            rows::id_reuse: {
                an_id_reused_with_another_event_type_is_answered_by_policy_and_told,
                an_id_reused_with_an_event_type_nobody_handles_is_a_reused_id,
                an_id_reused_with_another_source_is_answered_by_policy_where_it_is_kept,
                an_id_reused_with_another_body_is_answered_by_policy_where_it_is_kept,
                the_same_message_is_no_reuse_where_everything_is_kept,
                two_sources_with_one_uuid_are_two_messages_where_ids_are_unique_per_source,
            }
            rows::in_flight: {
                c3_a_twin_that_commits_within_the_claim_wait_makes_ours_a_duplicate,
                a_twin_that_fails_within_the_claim_wait_lets_ours_run,
                a_twin_in_flight_longer_than_the_claim_wait_is_in_flight_and_not_counted,
                a_pair_in_flight_is_asked_for_again_until_it_is_free,
                a_pair_in_flight_is_given_up_after_the_claim_wait,
                a_pool_without_a_free_connection_is_transient_and_not_counted,
                c7_dispatches_at_once_on_a_pool_of_one_all_end,
            }
            rows::processed: {
                handlers_that_return_ok_are_committed_with_the_dedup_row,
                a_pair_processed_before_is_skipped_and_its_handlers_are_not_started,
                of_25_messages_and_2_racers_25_are_processed_and_25_skipped,
                a_message_handed_in_without_its_consumer_is_told_the_consumers,
                an_inbox_of_one_consumer_takes_messages_without_its_name,
                a_missing_or_malformed_trace_context_never_stops_processing,
                a_payload_in_any_json_content_type_is_processed,
            }
            rows::savepoint: {
                a_leaked_savepoint_is_committed_or_rolled_back_as_a_whole_and_truly_told,
            }
            rows::serialization: {
                a7_nothing_of_a_run_survives_into_its_retry,
                a_claim_that_fails_to_serialize_is_retried_inside,
                a_store_that_never_serializes_is_a_transient_store_error_in_the_end,
                a_serialization_failure_inside_the_handlers_error_is_retried_inside,
                a_serialization_failure_marked_permanent_is_retried_and_stays_transient,
                a_deadline_that_passes_in_a_retry_is_no_unknown_commit,
                c5_a_retry_waits_without_a_connection,
                other_failures_are_not_retried_inside,
            }
            rows::unhandled: {
                an_event_type_without_handler_is_unhandled_naming_the_known_types,
                an_event_type_without_handler_is_ignored_where_the_application_chose_so,
                a_processed_message_whose_handler_is_gone_is_a_duplicate,
            }
            cases::extractors: {
                extractors_give_what_the_message_carries_in_every_run,
                a_state_that_was_not_given_or_given_twice_is_refused_at_build,
            }
            cases::identity: {
                k1_two_consumers_of_one_message_both_run_once,
                k4_the_id_is_the_producers_and_a_missing_one_is_an_error,
                k4_a_text_id_is_the_same_message_on_every_redelivery,
                k6_a_retry_later_never_writes_the_dedup_row,
                k8_renaming_or_moving_the_function_changes_nothing,
            }
            cases::privacy: {
                no_log_line_and_no_error_shows_the_payload,
            }
            cases::schema: {
                c6_a_database_without_the_schema_is_refused_at_build_with_the_remedy,
                c6_a_migrated_database_passes_its_check,
            }
            cases::several_handlers: {
                k2_handlers_run_in_declared_order_then_by_name_in_one_dedup_decision,
                k2_the_first_failure_stops_the_rest_and_undoes_what_ran_before,
                a_second_handler_that_cannot_decode_means_that_the_first_has_not_run,
                a_later_handler_is_not_started_where_an_earlier_one_ended_the_transaction,
                a_later_handler_is_not_started_where_an_earlier_one_gave_up_a_begin,
                a_later_handler_is_not_started_in_an_aborted_transaction_nor_blamed_for_it,
                a_last_handler_that_ends_or_aborts_the_transaction_is_named,
                the_transaction_is_probed_between_handlers_and_not_after_the_last,
            }
            cases::stop: {
                a_stopping_inbox_takes_no_more_finishes_what_runs_and_tells_when_done,
                a_dropped_dispatch_does_not_hold_up_the_stop,
            }
        }

        #[test]
        fn any_history_keeps_the_promise() {
            $crate::histories::any::<$harness>();
        }

        #[test]
        fn known_histories_keep_the_promise() {
            $crate::histories::known::<$harness>();
        }
    };
}

/// What [`suite!`](crate::suite) expands to.
#[doc(hidden)]
#[macro_export]
macro_rules! tests {
    ($harness:ty; $($folder:ident :: $file:ident : { $($test:ident),* $(,)? })*) => {
        $($(
            #[test]
            fn $test() {
                $crate::block_on($crate::$folder::$file::$test::<$harness>());
            }
        )*)*
    };
}

/// Writes one `#[test]` for every test of the transports' suite, on the store of this
/// [`Harness`](crate::Harness) and on this [`Broker`](crate::transport::Broker).
#[macro_export]
macro_rules! transport_suite {
    ($harness:ty, $broker:ty) => {
        $crate::transport_tests! {
            $harness, $broker;
            attempts: {
                p5_a_message_that_kills_the_process_is_put_away_and_those_beside_it_are_not,
                a_message_whose_consumer_died_is_delivered_again_and_applied_once,
            }
            batches: {
                c1_of_a_crowd_with_duplicates_and_poison_each_is_settled_rightly,
                no_more_is_fetched_than_may_be_unsettled,
            }
            ends: {
                a_graceful_stop_makes_no_redelivery,
                the_stop_of_the_inbox_ends_its_subscriptions_and_waits_for_them,
                health_tells_of_connection_and_progress,
            }
            order: {
                in_strict_order_nothing_overtakes_a_message_that_fails,
                messages_of_one_key_are_in_order_and_keys_side_by_side,
            }
            outcomes: {
                a_processed_message_is_acknowledged,
                c2_a_duplicate_is_skipped_and_acknowledged,
                a_message_that_nobody_handles_is_put_away_with_its_reason,
                p3_an_undecodable_message_is_put_away_and_the_others_flow,
                k5_a_message_without_an_id_or_unreadable_is_put_away,
                an_error_marked_permanent_is_put_away_at_once,
                a_message_in_flight_or_without_a_connection_is_held_and_costs_no_attempt,
                a_dead_letter_in_the_stores_table_is_durable_and_replayed,
                a_handler_of_three_ack_waits_is_not_delivered_to_others,
            }
            retries: {
                a_failed_message_is_delivered_again_after_about_its_wait,
                p1_a_message_that_keeps_failing_is_put_away_after_its_attempts,
                in_an_ordered_lane_the_attempts_are_counted_too,
            }
        }
    };
}

/// What [`transport_suite!`](crate::transport_suite) expands to.
#[doc(hidden)]
#[macro_export]
macro_rules! transport_tests {
    ($harness:ty, $broker:ty; $($file:ident : { $($test:ident),* $(,)? })*) => {
        $($(
            #[test]
            fn $test() {
                $crate::block_on($crate::transport::$file::$test::<$harness, $broker>());
            }
        )*)*
    };
}
