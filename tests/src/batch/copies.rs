//! Several copies of one message in one batch.

use inbox::{DispatchErrorKind as Kind, Envelope, OnIdReuse, Outcome};

use super::answers::{assert_redelivered, assert_true, good};
use crate::answer::{Attempt, Failed, link};
use crate::bench::{Bench, handler, id_of};
use crate::command::{COMMAND, End, envelope};
use crate::harness::{Harness, StoreOptions};
use crate::obey::Refusal;
use crate::rows::unhandled::{OTHER, Other, nobodys};

pub async fn a_copy_of_a_message_that_committed_is_a_duplicate<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let mut envelopes = good(10);
    envelopes.push(envelopes[3].clone());
    envelopes.insert(5, envelopes[3].clone().with_delivery_attempt(2));
    let answers = bench.dispatch_batch(&envelopes).await;
    for (i, answer) in answers.into_iter().enumerate() {
        let copy = i == 5 || i == 11;
        let expected = if copy { Outcome::SkippedDuplicate } else { Outcome::Processed };
        assert_eq!(answer.unwrap(), expected, "{i}");
    }
    assert_eq!(bench.probe.starts(), 10);
    assert_eq!(bench.plan.calls().iter().filter(|call| **call == "claim").count(), 0);
    assert_eq!(bench.harness.effects().await.len(), 10);
}

pub async fn a_copy_of_a_message_that_failed_has_the_same_error<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let mut envelopes = good(6);
    envelopes[2] = envelope([End::Permanent]);
    envelopes.push(envelopes[2].clone());
    let mut answers = bench.dispatch_batch(&envelopes).await;
    assert_true(&bench, &envelopes, &answers).await;
    let starts = bench.probe.starts_of(0, &id_of(&envelopes[2]).to_string());
    assert_eq!(starts, 2, "once with the others, once apart, and not for the copy");
    for place in [6, 2] {
        let error = answers.remove(place).permanent(Kind::Handler);
        assert_eq!(link::<Refusal>(&error), &Refusal(0));
        assert_eq!(error.message_id(), Some(id_of(&envelopes[2])));
    }
}

pub async fn a_copy_with_another_event_type_or_body_is_an_id_used_again<H: Harness>() {
    for policy in [OnIdReuse::Refuse, OnIdReuse::Skip] {
        let harness = std::sync::Arc::new(H::start().await);
        let options = StoreOptions { keep_fingerprint: true, ..StoreOptions::default() };
        let bench = Bench::<H>::on(harness, options, |builder| {
            let builder = builder.register(handler::<H, 0>("obey"));
            builder.on_id_reuse(policy).register(Other::registration())
        })
        .await;
        let mut envelopes = good(3);
        let id = id_of(&envelopes[1]);
        envelopes.push(Envelope::new(id, OTHER, "{}"));
        envelopes.push(Envelope::new(id, COMMAND, envelope([End::Ok, End::Ok]).payload()));
        let answers = bench.dispatch_batch(&envelopes).await;
        for (i, answer) in answers.into_iter().enumerate() {
            match (i, policy) {
                (0..3, _) => assert_eq!(answer.unwrap(), Outcome::Processed),
                (_, OnIdReuse::Skip) => assert_eq!(answer.unwrap(), Outcome::SkippedDuplicate),
                (_, OnIdReuse::Refuse) => drop(answer.permanent(Kind::IdReused)),
            }
        }
        assert_eq!(bench.probe.starts(), 3);
    }
}

pub async fn another_message_under_the_id_of_one_that_failed_is_run<H: Harness>() {
    let bench = Bench::<H>::with(|builder| {
        builder.register(handler::<H, 0>("obey")).register(Other::registration())
    })
    .await;
    let mut envelopes = good(3);
    envelopes[1] = envelope([End::Error]);
    envelopes.push(Envelope::new(id_of(&envelopes[1]), OTHER, "{}"));
    let mut answers = bench.dispatch_batch(&envelopes).await;
    assert_eq!(answers.remove(3).unwrap(), Outcome::Processed);
    let _ = answers.remove(1).transient(Kind::Handler, Attempt::Counted);
    assert!(bench.has_row(&envelopes[3]).await);
}

pub async fn of_two_copies_the_one_that_can_be_read_runs<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let mut envelopes = good(3);
    let id = id_of(&envelopes[2]);
    envelopes.insert(0, Envelope::new(id, COMMAND, "{"));
    envelopes.insert(0, Envelope::new(id, nobodys().event_type(), "{}"));
    let mut answers = bench.dispatch_batch(&envelopes).await.into_iter();
    // As after any other commit: the id is known, under another event type.
    let _ = answers.next().unwrap().permanent(Kind::IdReused);
    assert_eq!(answers.next().unwrap().unwrap(), Outcome::SkippedDuplicate);
    for answer in answers {
        assert_eq!(answer.unwrap(), Outcome::Processed);
    }
    assert_redelivered(&bench, &envelopes[2..]).await;
}
