//! Something hangs while a batch runs: the database does not answer, or handlers do not end.

use std::collections::HashSet;

use inbox::{DispatchErrorKind as Kind, Fault, InboxBuilder, NoStore, Outcome};

use super::answers::{assert_redelivered, assert_true, good, others_processed};
use crate::answer::{Attempt, Failed};
use crate::bench::{Bench, handler, id_of};
use crate::command::{End, envelope};
use crate::harness::Harness;
use crate::plan::ClaimFault;

/// The mark is set and nobody knows: going back to it would undo nothing, and what the part had claimed
/// would look like what was processed before.
pub async fn a_mark_without_an_answer_is_never_gone_back_to<H: Harness>() {
    for unanswered in [vec![true], vec![false, true], vec![false, false, true]] {
        let bench = Bench::<H>::start().await;
        let mut envelopes = good(40);
        envelopes[0] = envelope([End::Error]); // so that nobody is trusted, and the others run in parts
        bench.plan.marks_unanswered(unanswered.clone());
        let answers = bench.dispatch_batch(&envelopes).await;
        assert_true(&bench, &envelopes, &answers).await;
        let skipped = |answer: &_| matches!(answer, Ok(Outcome::SkippedDuplicate));
        assert!(!answers.iter().any(skipped), "{unanswered:?}: none was processed before");
        let _ = others_processed(answers, 0).transient(Kind::Handler, Attempt::Counted);
        assert_redelivered(&bench, &envelopes).await;
    }
}

pub async fn a_proof_between_handlers_without_an_answer_is_bounded<H: Harness>() {
    let bench = Bench::<H>::with(|builder: InboxBuilder<NoStore>| {
        builder.register(handler::<H, 0>("first")).register(handler::<H, 1>("second"))
    })
    .await;
    bench.plan.stall_next_probe();
    let envelopes = good(3);
    let answers = bench.dispatch_batch(&envelopes).await;
    for answer in answers {
        assert_eq!(answer.unwrap(), Outcome::Processed);
    }
}

/// A service that does not answer makes every message's handler hang.
pub async fn two_handlers_that_hang_end_a_batch<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let mut envelopes = good(20);
    for envelope in &mut envelopes[3..] {
        *envelope = crate::command::envelope([End::Hang]);
    }
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_true(&bench, &envelopes, &answers).await;
    let hung: HashSet<_> =
        envelopes[3..].iter().map(|envelope| id_of(envelope).to_string()).collect();
    let starts: u32 = hung.iter().map(|id| bench.probe.starts_of(0, id)).sum();
    assert!((4..=5).contains(&starts), "two in company and two apart, not {starts}");
    let mut timed_out = 0;
    for (i, answer) in answers.into_iter().enumerate() {
        match answer {
            Ok(outcome) => assert_eq!((i < 3, outcome), (true, Outcome::Processed)),
            Err(error) if error.kind() == Kind::HandlerTimedOut => timed_out += 1,
            Err(error) => drop(Err(error).transient(Kind::Store, Attempt::NotCounted)),
        }
    }
    assert_eq!(timed_out, 2, "the others were not tried");
    assert_redelivered(&bench, &envelopes).await;
}

/// Each message that is dispatched apart would wait for a connection as long as the one before it.
pub async fn a_batch_that_finds_no_connection_apart_tries_no_further<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let mut envelopes = good(10);
    for envelope in &mut envelopes {
        *envelope = crate::command::envelope([End::Error]);
    }
    // Every message is run apart in the end: the claims of the first one are answered, then no more.
    let together = bench.dispatch_batch(&envelopes).await.len();
    assert_eq!(together, 10);
    let opened = bench.plan.calls().iter().filter(|call| **call == "open").count();
    let before = bench.plan.calls().iter().filter(|call| **call == "claim").count();
    assert_eq!(before, 10);
    let answered = std::iter::repeat_n(ClaimFault::None, opened + 1);
    bench.plan.claims(answered.chain([ClaimFault::Fails(Fault::Busy)]));
    let answers = bench.dispatch_batch(&envelopes).await;
    let claims = bench.plan.calls().iter().filter(|call| **call == "claim").count() - before;
    assert_eq!(claims, 2, "one that was answered, one that was not");
    let mut answers = answers.into_iter();
    let _ = answers.next().unwrap().transient(Kind::Handler, Attempt::Counted);
    for answer in answers {
        let _ = answer.transient(Kind::Store, Attempt::NotCounted);
    }
    bench.assert_usable().await;
}
