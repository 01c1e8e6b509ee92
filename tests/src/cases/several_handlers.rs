//! K2: several handlers of one event in one consumer.

use inbox::{DispatchErrorKind as Kind, InboxBuilder, NoStore, Outcome};

use crate::answer::{Attempt, Failed};
use crate::bench::{Bench, CONSUMER, handler};
use crate::command::{Command, End, UNREADABLE_AT, envelope};
use crate::harness::Harness;

/// Three handlers, whose declared order is neither the order of their names nor of registration.
fn three<H: Harness>(builder: InboxBuilder<NoStore>) -> InboxBuilder<NoStore> {
    builder
        .register(handler::<H, 0>("a").with_order(9))
        .register(handler::<H, 2>("c"))
        .register(handler::<H, 1>("b"))
}

pub async fn k2_handlers_run_in_declared_order_then_by_name_in_one_dedup_decision<H: Harness>() {
    let bench = Bench::<H>::with(three::<H>).await;
    let envelope = envelope([]);
    assert_eq!(bench.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    assert_eq!(bench.probe.order(), [1, 2, 0]);
    assert_eq!(bench.effects_of(&envelope).await, ["0", "1", "2"]);
    assert_eq!(bench.plan.calls(), ["claim", "commit"]);
    assert_eq!(bench.harness.dedup_rows(CONSUMER).await.len(), 1);
    bench.assert_committed_once(&envelope).await;
}

pub async fn k2_the_first_failure_stops_the_rest_and_undoes_what_ran_before<H: Harness>() {
    for (end, kind) in [
        (End::Error, Kind::Handler),
        (End::Panic, Kind::HandlerPanicked),
        (End::Hang, Kind::HandlerTimedOut),
    ] {
        let bench = Bench::<H>::with(three::<H>).await;
        let envelope = envelope([End::Ok, End::Ok, end]);
        let error = bench.dispatch(&envelope).await.transient(kind, Attempt::Counted);
        assert_eq!(error.handler(), Some("c"));
        assert_eq!(bench.probe.order(), [1, 2], "the third was started");
        bench.assert_rolled_back_and_reprocessed(&envelope).await;
        assert_eq!(bench.effects_of(&envelope).await, ["0", "1", "2"]);
    }
}

pub async fn a_second_handler_that_cannot_decode_means_that_the_first_has_not_run<H: Harness>() {
    let bench = Bench::<H>::with(three::<H>).await;
    let envelope = envelope([]).with_header(UNREADABLE_AT, "2");
    let error = bench.dispatch(&envelope).await.permanent(Kind::Decode);
    assert_eq!((error.handler(), Command::decoded()), (Some("c"), 2));
    assert_eq!((bench.probe.starts(), bench.plan.calls()), (0, vec!["find"]));
}
