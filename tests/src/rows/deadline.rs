//! The client-side deadline, when the store stops answering; and a look-up that fails.

use std::time::Duration;

use inbox::{DispatchErrorKind as Kind, Envelope, Fault, Inbox, Outcome};
use uuid::Uuid;

use crate::answer::{Attempt, Failed};
use crate::bench::{Bench, handler};
use crate::command::{COMMAND, End};
use crate::harness::{Harness, StoreOptions};
use crate::plan::ClaimFault;

pub async fn a_claim_nobody_answers_ends_at_the_deadline<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.claims([ClaimFault::Stalls]);
    let (envelope, answer) = bench.run(End::Ok).await;
    let error = answer.transient(Kind::Store, Attempt::NotCounted);
    assert!(error.to_string().contains("1200s"), "{error}");
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a_rollback_nobody_answers_ends_at_the_deadline_and_counts_the_run<H: Harness>() {
    let bench = Bench::<H>::start().await;
    bench.plan.stall_next_rollback();
    let (envelope, answer) = bench.run(End::Error).await;
    let _ = answer.transient(Kind::Store, Attempt::Counted);
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a_look_up_that_fails_or_stalls_dead_letters_nothing<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let unreadable = Envelope::new(Uuid::new_v4(), COMMAND, "[]");
    let unhandled = Envelope::new(Uuid::new_v4(), "nobody.handles-this.v1", "{}");
    for envelope in [&unreadable, &unhandled] {
        for (fault, attempt) in [
            (ClaimFault::Fails(Fault::Other), Attempt::Counted),
            (ClaimFault::Fails(Fault::Busy), Attempt::NotCounted),
            (ClaimFault::Stalls, Attempt::NotCounted),
        ] {
            bench.plan.finds([fault]);
            let _ = bench.dispatch(envelope).await.transient(Kind::Store, attempt);
        }
    }
    let _ = bench.dispatch(&unreadable).await.permanent(Kind::Decode);
    let _ = bench.dispatch(&unhandled).await.permanent(Kind::Unhandled);
}

pub async fn a_deadline_not_longer_than_the_handlers_timeouts_is_refused_at_build<H: Harness>() {
    let harness = H::start().await;
    let store = harness.store(StoreOptions::default()).await;
    let builder = Inbox::builder().deadline(Duration::from_secs(60)).state(crate::Probe::default());
    let two = builder.register(handler::<H, 0>("a")).register(handler::<H, 1>("b"));
    let refused = two.store(store).build().await.unwrap_err();
    assert!(matches!(refused.problems(), [one] if one.contains("deadline")), "{refused}");
}

pub async fn a_deadline_beyond_all_clocks_is_none<H: Harness>() {
    let one = handler::<H, 0>("obey");
    let wait = Duration::MAX - Duration::from_secs(1);
    let bench =
        Bench::<H>::with(|b| b.deadline(Duration::MAX).claim_wait(wait).register(one)).await;
    let (envelope, answer) = bench.run(End::Ok).await;
    assert_eq!(answer.unwrap(), Outcome::Processed);
    bench.assert_committed_once(&envelope).await;
}
