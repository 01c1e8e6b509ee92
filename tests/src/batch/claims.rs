//! What is decided before a handler starts: invalid, known, unhandled, undecodable, in flight, busy.

use std::time::Duration;

use inbox::{DispatchErrorKind as Kind, Envelope, Fault, Outcome, StoreError};
use uuid::Uuid;

use super::answers::{assert_processed, assert_redelivered, assert_true, good, others_processed};
use crate::answer::{Attempt, Failed, link};
use crate::bench::{Bench, handler};
use crate::command::{COMMAND, End, envelope};
use crate::harness::{Harness, StoreOptions};
use crate::plan::ClaimFault;
use crate::rows::in_flight::two_inboxes;
use crate::rows::unhandled::nobodys;

pub async fn c1_of_100_messages_with_k_duplicates_the_others_run_and_k_are_skipped<H: Harness>() {
    for k in [1, 37, 100] {
        let bench = Bench::<H>::start().await;
        let envelopes = good(100);
        let known: Vec<_> = envelopes.iter().step_by(100 / k).take(k).cloned().collect();
        assert_processed(&bench.dispatch_batch(&known).await);
        let starts = bench.probe.starts();
        let answers = bench.dispatch_batch(&envelopes).await;
        assert_true(&bench, &envelopes, &answers).await;
        for (i, answer) in answers.into_iter().enumerate() {
            let is_known = i % (100 / k) == 0 && i / (100 / k) < k;
            let expected = if is_known { Outcome::SkippedDuplicate } else { Outcome::Processed };
            assert_eq!(answer.unwrap(), expected, "{i} of {k}");
        }
        assert_eq!(bench.probe.starts() - starts, 100 - k as u32);
        assert_redelivered(&bench, &envelopes).await;
    }
}

pub async fn invalid_envelopes_are_answered_and_the_others_processed<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let mut envelopes = good(4);
    envelopes[1] = Envelope::new(Uuid::nil(), COMMAND, "{}");
    envelopes.insert(0, Envelope::new(None::<&str>, COMMAND, "{}"));
    let mut answers = bench.dispatch_batch(&envelopes).await;
    for place in [2, 0] {
        let error = answers.remove(place).permanent(Kind::InvalidEnvelope);
        assert!(error.to_string().contains("message id"), "{error}");
    }
    assert_processed(&answers);
}

pub async fn p3_undecodable_and_unhandled_messages_are_isolated<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let mut envelopes = good(20);
    envelopes[4] = Envelope::new(Uuid::new_v4(), COMMAND, "{\"ends\": 1}");
    envelopes[11] = nobodys();
    let mut answers = bench.dispatch_batch(&envelopes).await;
    assert_true(&bench, &envelopes, &answers).await;
    let _ = answers.remove(11).permanent(Kind::Unhandled);
    let _ = others_processed(answers, 4).permanent(Kind::Decode);
    assert_eq!(bench.probe.starts(), 18);
}

pub async fn unhandled_messages_are_ignored_in_a_batch_where_the_application_chose_so<
    H: Harness,
>() {
    let bench = Bench::<H>::with(|b| b.ignore_unhandled().register(handler::<H, 0>("obey"))).await;
    let mut envelopes = good(4);
    envelopes[2] = nobodys();
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_eq!(others_processed(answers, 2).unwrap(), Outcome::Ignored);
}

pub async fn an_event_that_cannot_be_decoded_again_is_isolated<H: Harness>() {
    let bench = Bench::<H>::start().await;
    // The batch decodes four messages; the fifth decoding is that of a second run.
    let mut envelopes = good(4);
    envelopes[0] = envelopes[0].clone().with_header(crate::command::UNREADABLE_AT, "5");
    envelopes[3] = envelope([End::Error]);
    let mut answers = bench.dispatch_batch(&envelopes).await;
    let _ = answers.remove(3).transient(Kind::Handler, Attempt::Counted);
    assert_processed(&answers);
}

pub async fn a_twin_in_flight_is_told_at_once_and_the_others_are_processed<H: Harness>() {
    if !H::FEATURES.in_flight {
        return;
    }
    let (first, second) = two_inboxes::<H>().await;
    let mut envelopes = good(10);
    envelopes[7] = envelope([End::Wait(Box::new(End::Ok))]);
    let late = async {
        first.probe.arrived().await;
        let answers = second.dispatch_batch(&envelopes).await;
        first.probe.open();
        answers
    };
    let (won, answers) = tokio::join!(first.dispatch(&envelopes[7]), late);
    assert_eq!(won.unwrap(), Outcome::Processed);
    let _ = others_processed(answers, 7).transient(Kind::InFlight, Attempt::NotCounted);
    assert_eq!(second.probe.starts(), 9);
    assert_redelivered(&second, &envelopes).await;
}

pub async fn a_batch_that_is_in_flight_whole_opens_nothing_for_long<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.claims([ClaimFault::InFlight]);
    let envelopes = good(10);
    if H::FEATURES.in_flight {
        for answer in bench.dispatch_batch(&envelopes).await {
            let error = answer.transient(Kind::InFlight, Attempt::NotCounted);
            assert!(!error.to_string().contains("after"), "it did not wait: {error}");
        }
        assert_eq!(bench.plan.calls(), ["open", "rollback"]);
        assert_redelivered(&bench, &envelopes).await;
    }
}

pub async fn a_batch_without_a_connection_is_transient_and_not_counted<H: Harness>() {
    let harness = std::sync::Arc::new(H::start().await);
    let options = StoreOptions { wait: Duration::from_secs(1), ..StoreOptions::default() };
    let bench = Bench::<H>::on(harness, options, |b| b.register(handler::<H, 0>("obey"))).await;
    let holding = envelope([End::Wait(Box::new(End::Ok))]);
    let envelopes = good(5);
    let late = async {
        bench.probe.arrived().await;
        let answers = bench.consumer().dispatch_batch(&envelopes).await;
        bench.probe.open();
        answers
    };
    let (held, answers) = tokio::join!(bench.dispatch(&holding), late);
    assert_eq!(held.unwrap(), Outcome::Processed);
    assert_true(&bench, &envelopes, &answers).await;
    for answer in answers {
        let error = answer.transient(Kind::Store, Attempt::NotCounted);
        assert_eq!(link::<StoreError>(&error).fault(), Fault::Busy);
    }
    assert_redelivered(&bench, &envelopes).await;
}

pub async fn a_claim_that_fails_is_tried_again_in_halves<H: Harness>() {
    for fault in [Fault::Other, Fault::Serialization] {
        let bench = Bench::<H>::start().await;
        bench.plan.claims([ClaimFault::Fails(fault); 2]);
        let envelopes = good(10);
        let answers = bench.dispatch_batch(&envelopes).await;
        assert_processed(&answers);
        assert_eq!(bench.probe.starts(), 10);
        assert_true(&bench, &envelopes, &answers).await;
    }
}

pub async fn claims_nobody_answers_end_at_the_deadline<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.claims([ClaimFault::Stalls]);
    let envelopes = good(3);
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_true(&bench, &envelopes, &answers).await;
    for answer in answers {
        let _ = answer.transient(Kind::Store, Attempt::NotCounted);
    }
    assert_redelivered(&bench, &envelopes).await;
}

/// A batch in which something failed claims part by part.
pub async fn a_twin_in_flight_is_told_at_once_where_a_poison_parts_the_batch<H: Harness>() {
    if !H::FEATURES.in_flight {
        return;
    }
    let (first, second) = two_inboxes::<H>().await;
    let mut envelopes = good(40);
    envelopes[0] = envelope([End::Error]);
    envelopes[1] = envelope([End::Wait(Box::new(End::Ok))]);
    envelopes[35] = envelope([End::Wait(Box::new(End::Ok))]);
    let twin = async {
        second.probe.arrived().await; // in its second run, in which the last part is not claimed yet
        let arrived = async {
            first.probe.arrived().await;
            second.probe.open();
        };
        tokio::join!(first.dispatch(&envelopes[35]), arrived).0
    };
    let batch = async {
        let answers = second.dispatch_batch(&envelopes).await;
        first.probe.open();
        answers
    };
    let (won, mut answers) = tokio::join!(twin, batch);
    assert_eq!(won.unwrap(), Outcome::Processed);
    let _ = answers.remove(35).transient(Kind::InFlight, Attempt::NotCounted);
    let _ = others_processed(answers, 0).transient(Kind::Handler, Attempt::Counted);
    second.probe.mend();
    assert_redelivered(&second, &envelopes).await;
}
