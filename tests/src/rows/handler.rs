//! A handler, or an extractor of its arguments, fails, panics or takes too long.

use inbox::{DispatchErrorKind as Kind, StoreError};

use crate::answer::{Attempt, Failed, link};
use crate::bench::Bench;
use crate::command::{End, envelope};
use crate::harness::Harness;
use crate::obey::Refusal;

pub async fn a_handler_that_returns_err_is_rolled_back_with_the_original_as_source<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(End::Error).await;
    let error = answer.transient(Kind::Handler, Attempt::Counted);
    assert_eq!(link::<Refusal>(&error), &Refusal(0));
    assert_eq!(error.handler(), Some("obey"));
    assert!(format!("{error:#}").contains("handler 0 refuses"), "{error:#}");
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn an_extractor_that_returns_err_is_the_handlers_error<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let envelope = envelope([]);
    let refused = envelope.clone().with_header("refuse", "yes");
    let error = bench.dispatch(&refused).await.transient(Kind::Handler, Attempt::Counted);
    assert_eq!(link::<Refusal>(&error), &Refusal(usize::MAX));
    assert_eq!(bench.probe.starts(), 0);
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn an_error_marked_permanent_is_permanent<H: Harness>() {
    assert_permanent::<H>(End::Permanent).await;
}

pub async fn an_error_marked_permanent_behind_other_layers_is_permanent<H: Harness>() {
    assert_permanent::<H>(End::PermanentBehindLayers).await;
}

async fn assert_permanent<H: Harness>(end: End) {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(end).await;
    let error = answer.permanent(Kind::Handler);
    assert_eq!(link::<Refusal>(&error), &Refusal(0));
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn an_extractors_error_marked_permanent_is_permanent<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let envelope = envelope([]);
    let refused = envelope.clone().with_header("refuse", "permanently");
    let error = bench.dispatch(&refused).await.permanent(Kind::Handler);
    assert_eq!(link::<Refusal>(&error), &Refusal(usize::MAX));
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a_handler_that_panics_is_rolled_back_with_the_panics_text<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(End::Panic).await;
    let error = answer.transient(Kind::HandlerPanicked, Attempt::Counted);
    assert!(error.to_string().contains("handler 0 panics"), "{error}");
    assert_eq!(error.handler(), Some("obey"));
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a_panic_without_text_is_caught_too<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(End::PanicWithoutText).await;
    let _ = answer.transient(Kind::HandlerPanicked, Attempt::Counted);
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a_handler_that_exceeds_its_timeout_is_rolled_back<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(End::Hang).await;
    let error = answer.transient(Kind::HandlerTimedOut, Attempt::Counted);
    assert_eq!(error.handler(), Some("obey"));
    assert!(error.to_string().contains("30s"), "{error}");
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a_handlers_own_unique_violation_is_never_taken_for_a_duplicate<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(End::UniqueViolation).await;
    let error = answer.transient(Kind::Handler, Attempt::Counted);
    let driver: &dyn std::error::Error = std::error::Error::source(&error).expect("the driver's");
    assert!(!driver.is::<StoreError>(), "{error:?}");
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a_connection_can_be_taken_only_once<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (envelope, answer) = bench.run(End::TakeConnectionTwice).await;
    let error = answer.transient(Kind::Handler, Attempt::Counted);
    assert!(format!("{error:#}").contains("taken twice"), "{error:#}");
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a2_the_handlers_connection_is_the_one_that_holds_the_dedup_row<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let waiting = envelope([End::Wait(Box::new(End::SeeOwnDedupRow))]);
    let outside = async {
        bench.probe.arrived().await;
        let seen = (bench.has_row(&waiting).await, bench.effects_of(&waiting).await);
        bench.probe.open();
        seen
    };
    let (answer, (row, effects)) = tokio::join!(bench.dispatch(&waiting), outside);
    assert_eq!(answer.unwrap(), inbox::Outcome::Processed);
    assert!(!row && effects.is_empty(), "seen from outside before the commit");
    bench.assert_committed_once(&waiting).await;
}

pub async fn a9_err_panic_and_timeout_leave_no_row_and_reach_the_caller<H: Harness>() {
    for end in [End::Error, End::Permanent, End::Panic, End::Hang] {
        let bench = Bench::<H>::start().await;
        let (envelope, answer) = bench.run(end).await;
        let error = answer.unwrap_err();
        assert!(error.handler() == Some("obey") && error.message_id().is_some(), "{error:?}");
        bench.assert_rolled_back_and_reprocessed(&envelope).await;
    }
}
