//! What all tests of batches ask.

use inbox::{DispatchError, Envelope, Outcome};

use crate::bench::{Bench, id_of};
use crate::command::envelope;
use crate::harness::Harness;

pub(super) type Answer = Result<Outcome, DispatchError>;

/// Messages that end well.
pub(super) fn good(count: usize) -> Vec<Envelope> {
    (0..count).map(|_| envelope([])).collect()
}

/// Takes out the answer at `place`, and asserts that the others were all processed.
#[track_caller]
pub(super) fn others_processed(mut answers: Vec<Answer>, place: usize) -> Answer {
    let answer = answers.remove(place);
    assert_processed(&answers);
    answer
}

#[track_caller]
pub(super) fn assert_processed(answers: &[Answer]) {
    for (i, answer) in answers.iter().enumerate() {
        let outcome = answer.as_ref().unwrap_or_else(|error| panic!("answer {i}: {error:?}"));
        assert_eq!(*outcome, Outcome::Processed, "answer {i}");
    }
}

/// What is answered `Ok` has its row and its effects once; what is answered `Err` has neither.
pub(super) async fn assert_true<H: Harness>(
    bench: &Bench<H>,
    envelopes: &[Envelope],
    answers: &[Answer],
) {
    assert_eq!(envelopes.len(), answers.len());
    let rows = bench.harness.dedup_rows(crate::CONSUMER).await;
    let effects = bench.harness.effects().await;
    for (i, (envelope, answer)) in envelopes.iter().zip(answers).enumerate() {
        let id = id_of(envelope);
        let own = format!("0 {id}");
        let applied = effects.iter().filter(|effect| **effect == own).count();
        let durable = usize::from(answer.is_ok());
        assert_eq!(
            (applied, usize::from(rows.contains(&id))),
            (durable, durable),
            "{i}: {answer:?}"
        );
    }
    assert_eq!(bench.plan.open(), 0, "a unit of work was left open");
}

/// A redelivery of the same batch skips what was processed, and processes the rest.
pub(super) async fn assert_redelivered<H: Harness>(bench: &Bench<H>, envelopes: &[Envelope]) {
    let known = bench.harness.dedup_rows(crate::CONSUMER).await;
    bench.probe.mend();
    let answers = bench.dispatch_batch(envelopes).await;
    for (envelope, answer) in envelopes.iter().zip(&answers) {
        let expected = match known.contains(&id_of(envelope)) {
            true => Outcome::SkippedDuplicate,
            false => Outcome::Processed,
        };
        assert_eq!(*answer.as_ref().expect("the redelivery"), expected);
    }
    assert_true(bench, envelopes, &answers).await;
    bench.assert_usable().await;
}
