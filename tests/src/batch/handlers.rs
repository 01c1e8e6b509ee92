//! Batch handlers: one call for many messages.

use inbox::{
    DecodeError, DispatchErrorKind as Kind, Envelope, HandlerRegistration, Inbox, InboxBuilder,
    IntegrationEvent, NoStore, Outcome,
};
use uuid::Uuid;

use super::answers::{assert_processed, assert_redelivered, assert_true, good, others_processed};
use crate::answer::{Attempt, Failed};
use crate::bench::{Bench, handler, id_of};
use crate::command::{Command, End, Escape, Then, envelope};
use crate::harness::Harness;
use crate::obey_many::{ObeyMany, Order};
use crate::rows::unhandled::{OTHER, Other};

const THIRD: &str = "conformance.third.v1";

/// A third event, which always ends well.
struct Third;

impl IntegrationEvent for Third {
    const EVENT_TYPE: &'static str = THIRD;

    fn decode(_: &Envelope) -> Result<Self, DecodeError> {
        Ok(Third)
    }
}

impl Order for Third {
    fn end(&self, _: usize) -> End {
        End::Ok
    }
}

fn third() -> Envelope {
    Envelope::new(Uuid::new_v4(), THIRD, "")
}

fn other() -> Envelope {
    Envelope::new(Uuid::new_v4(), OTHER, "")
}

async fn bench<H: Harness>(
    configure: impl FnOnce(HandlerRegistration) -> HandlerRegistration,
) -> Bench<H> {
    let many = configure(ObeyMany::<H>::registration("many"));
    Bench::<H>::with(|builder: InboxBuilder<NoStore>| {
        let thirds = ObeyMany::<H, Third>::registration("thirds");
        builder.register(many).register(thirds).register(Other::registration())
    })
    .await
}

pub async fn a_batch_handler_is_called_once_for_messages_that_follow_each_other<H: Harness>() {
    let bench = bench::<H>(|many| many).await;
    let mut envelopes = good(20);
    envelopes.insert(12, other());
    envelopes.insert(5, third());
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_processed(&answers);
    assert_eq!(bench.probe.calls(), [5, 1, 7, 8], "the maximal runs, in the order of delivery");
    for envelope in &envelopes {
        assert!(bench.has_row(envelope).await);
    }
    assert_eq!(bench.harness.effects().await.len(), 21);
    for answer in bench.dispatch_batch(&envelopes).await {
        assert_eq!(answer.unwrap(), Outcome::SkippedDuplicate);
    }
}

pub async fn a_batch_handler_in_any_order_is_called_once_for_a_batch<H: Harness>() {
    let bench = bench::<H>(HandlerRegistration::in_any_order).await;
    let mut envelopes = good(20);
    envelopes.insert(12, third());
    envelopes.insert(5, third());
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_processed(&answers);
    assert_true(&bench, &envelopes, &answers).await;
    assert_eq!(bench.probe.calls(), [20, 2]);
}

pub async fn a_single_message_is_a_batch_of_one<H: Harness>() {
    let bench = bench::<H>(|many| many).await;
    let (envelope, answer) = bench.run(End::Ok).await;
    assert_eq!(answer.unwrap(), Outcome::Processed);
    assert_eq!(bench.probe.calls(), [1]);
    bench.assert_committed_once(&envelope).await;
    let (envelope, answer) = bench.run(End::Error).await;
    let error = answer.transient(Kind::Handler, Attempt::Counted);
    assert_eq!(error.handler(), Some("many"));
    bench.assert_rolled_back_and_reprocessed(&envelope).await;
}

pub async fn a_batch_handler_that_fails_is_called_with_fewer_until_the_poison_is_named<
    H: Harness,
>() {
    let ends = [End::Error, End::Panic, End::Hang, End::UniqueViolation, End::DeferredViolation];
    for (end, place) in ends.into_iter().zip([0, 17, 39, 22, 31]) {
        let bench = bench::<H>(|many| many).await;
        let mut envelopes = good(40);
        envelopes[place] = envelope([end]);
        let answers = bench.dispatch_batch(&envelopes).await;
        assert_true(&bench, &envelopes, &answers).await;
        let error = others_processed(answers, place).unwrap_err();
        assert!(error.is_transient() && error.counts_attempt(), "{error:?}");
        assert_eq!(bench.probe.calls().first(), Some(&40));
        assert!(bench.probe.calls().len() < 25, "{:?}", bench.probe.calls());
        assert_redelivered(&bench, &envelopes).await;
    }
}

pub async fn a_batch_handler_skips_what_was_processed_and_takes_the_rest<H: Harness>() {
    let bench = bench::<H>(|many| many).await;
    let envelopes = good(10);
    assert_processed(&bench.dispatch_batch(&envelopes[2..5]).await);
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_true(&bench, &envelopes, &answers).await;
    // Where messages are claimed right before their handlers, those that are known part nobody.
    assert_eq!(bench.probe.calls(), [3, 7]);
}

pub async fn several_batch_handlers_of_one_event_run_in_their_order<H: Harness>() {
    let bench = Bench::<H>::with(|builder: InboxBuilder<NoStore>| {
        let first = ObeyMany::<H>::registration("first").with_order(1);
        builder.register(ObeyMany::<H>::registration("second").with_order(2)).register(first)
    })
    .await;
    assert_processed(&bench.dispatch_batch(&good(5)).await);
    assert_eq!(bench.probe.calls(), [5, 5]);
    assert_eq!(bench.harness.effects().await.len(), 10);
}

pub async fn a_later_batch_handler_is_not_started_where_an_earlier_one_ended_the_transaction<
    H: Harness,
>() {
    let bench = Bench::<H>::with(|builder: InboxBuilder<NoStore>| {
        let first = ObeyMany::<H>::registration("first");
        builder.register(first).register(ObeyMany::<H, Command, 1>::registration("second"))
    })
    .await;
    let mut envelopes = good(5);
    envelopes[2] = envelope([End::Escape(Escape::Rollback, Then::Ok)]);
    let answers = bench.dispatch_batch(&envelopes).await;
    let starts = |envelope| bench.probe.starts_of(1, &id_of(envelope).to_string());
    let starts: Vec<u32> = envelopes.iter().map(starts).collect();
    assert_eq!(starts, [1, 1, 0, 1, 1], "of the second handler");
    let error = others_processed(answers, 2).permanent(Kind::TransactionEscaped);
    assert_eq!(error.handler(), Some("first"));
    envelopes.remove(2);
    for envelope in &envelopes {
        assert_eq!(bench.effects_of(envelope).await, ["0", "1"]);
    }
}

pub async fn batch_handlers_and_others_of_one_event_in_one_consumer_are_refused_at_build<
    H: Harness,
>() {
    let harness = H::start().await;
    let built = Inbox::builder()
        .store(harness.store(crate::StoreOptions::default()).await)
        .state(crate::Probe::default())
        .register(ObeyMany::<H>::registration("many"))
        .register(handler::<H, 0>("obey"))
        .build()
        .await;
    let error = built.expect_err("two ways of calling").to_string();
    let told = ["`many`", "`obey`", "both in batches and one by one", "obey_many.rs"];
    assert!(told.iter().all(|text| error.contains(text)), "{error}");
}

pub async fn a_batch_handler_that_takes_one_message_as_an_argument_is_refused_at_build<
    H: Harness,
>() {
    struct OfOne;
    impl inbox::BatchHandler for OfOne {
        type Event = Third;
        const ARGUMENTS: &'static [inbox::Argument] =
            &[<inbox::MessageId as inbox::FromDelivery<'_>>::ARGUMENT];
        fn call<'a>(
            _: Vec<inbox::Delivered<'a, Third>>,
            _: inbox::Delivery<'a>,
        ) -> inbox::HandlerFuture<'a> {
            Box::pin(async { Ok(()) })
        }
    }
    let harness = H::start().await;
    let built = Inbox::builder()
        .store(harness.store(crate::StoreOptions::default()).await)
        .register(HandlerRegistration::batch::<OfOne>(crate::CONSUMER, "of_one"))
        .build()
        .await;
    let error = built.expect_err("an argument of one message").to_string();
    assert!(error.contains("`of_one`") && error.contains("Delivered"), "{error}");
}
