//! Random batches: whatever is in them, `Ok` is what is durable.

use inbox::Envelope;

use super::answers::{assert_redelivered, assert_true};
use crate::bench::Bench;
use crate::command::{COMMAND, End, Then, envelope};
use crate::harness::Harness;
use crate::plan::{ClaimFault, CommitFault};
use crate::rows::unhandled::nobodys;

/// Numbers of a fixed sequence, so that a failure comes again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

fn random(dice: &mut Dice, poison: usize) -> Envelope {
    match dice.below(100) {
        n if n >= poison => envelope([]),
        _ => match dice.below(10) {
            0 | 1 => envelope([End::Error]),
            2 => envelope([End::Panic]),
            3 => envelope([End::Permanent]),
            4 => envelope([End::UniqueViolation]),
            5 => envelope([End::DeferredViolation]),
            6 => envelope([End::LeakSavepoint(Then::Error)]),
            7 => Envelope::new(uuid::Uuid::new_v4(), COMMAND, "{"),
            8 => nobodys(),
            _ => envelope([End::SerializationFailure]),
        },
    }
}

fn faults(dice: &mut Dice) -> (Option<ClaimFault>, Option<CommitFault>) {
    let fault = inbox::Fault::Other;
    match dice.below(8) {
        0 => (Some(ClaimFault::Fails(fault)), None),
        1 => (None, Some(CommitFault::Refused(fault))),
        2 => (None, Some(CommitFault::UnknownCommitted)),
        3 => (None, Some(CommitFault::UnknownRolledBack)),
        4 => (None, Some(CommitFault::Aborted)),
        _ => (None, None),
    }
}

pub async fn in_random_batches_the_oks_are_exactly_what_is_durable<H: Harness>() {
    let mut dice = Dice(20);
    for (round, poison) in [0, 2, 10, 30, 60, 90].into_iter().cycle().take(18).enumerate() {
        let bench = Bench::<H>::start().await;
        let mut envelopes: Vec<_> =
            (0..2 + dice.below(60)).map(|_| random(&mut dice, poison)).collect();
        let known: Vec<_> = envelopes.iter().filter(|_| dice.below(4) == 0).cloned().collect();
        let _ = bench.dispatch_batch(&known).await;
        for _ in 0..dice.below(6) {
            let copy = envelopes[dice.below(envelopes.len())].clone();
            envelopes.insert(dice.below(envelopes.len()), copy);
        }
        let (claim, commit) = faults(&mut dice);
        bench.plan.claims(claim);
        bench.plan.commits(commit);
        let answers = bench.dispatch_batch(&envelopes).await;
        assert_true(&bench, &envelopes, &answers).await;
        assert_eq!(answers.len(), envelopes.len(), "round {round}");
        let readable =
            |envelope: &&Envelope| envelope.event_type() == COMMAND && envelope.payload() != b"{";
        let mut again: Vec<_> = envelopes.iter().filter(readable).cloned().collect();
        again.dedup_by_key(|envelope| crate::bench::id_of(envelope));
        let mut seen = std::collections::HashSet::new();
        again.retain(|envelope| seen.insert(crate::bench::id_of(envelope)));
        assert_redelivered(&bench, &again).await;
    }
}
