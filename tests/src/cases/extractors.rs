//! What a handler may take besides its event and its connection.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use inbox::{
    Argument, ConsumerName, Deadline, Delivery, DeliveryAttempt, Envelope, FromDelivery, Handler,
    HandlerFuture, HandlerRegistration, Headers, Inbox, MessageId, Outcome, State,
};

use crate::bench::{Bench, CONSUMER, id_of};
use crate::command::{COMMAND, Command, envelope};
use crate::harness::{Harness, StoreOptions};
use crate::plan::CommitFault;

/// What [`Witness`] saw, in each run.
#[derive(Clone, Debug, Default)]
struct Testimony(Arc<Mutex<Vec<Seen>>>);

#[derive(Debug)]
struct Seen {
    id: MessageId,
    consumer: String,
    attempt: Option<u32>,
    header: Option<String>,
    correlation: Option<String>,
    has_deadline_ahead: bool,
}

/// Takes everything there is and tells it.
struct Witness;

impl Handler for Witness {
    type Event = Command;

    const ARGUMENTS: &'static [Argument] = &[<State<Testimony> as FromDelivery<'_>>::ARGUMENT];

    fn call<'a>(_: Command, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async move {
            let State(testimony) = delivery.extract::<State<Testimony>>()?;
            let headers: &Headers = delivery.extract()?;
            let whole: &Envelope = delivery.extract()?;
            let ConsumerName(consumer) = delivery.extract()?;
            let DeliveryAttempt(attempt) = delivery.extract()?;
            let Deadline(deadline) = delivery.extract()?;
            assert_eq!(whole.event_type(), COMMAND);
            testimony.0.lock().unwrap().push(Seen {
                id: delivery.extract()?,
                consumer: consumer.to_owned(),
                attempt,
                header: headers.get("TENANT").map(str::to_owned),
                correlation: whole.correlation_id().map(str::to_owned),
                has_deadline_ahead: deadline > std::time::Instant::now(),
            });
            Ok(())
        })
    }
}

pub async fn extractors_give_what_the_message_carries_in_every_run<H: Harness>() {
    let testimony = Testimony::default();
    let witness = HandlerRegistration::new::<Witness>(CONSUMER, "witness");
    let bench =
        Bench::<H>::with(|builder| builder.register(witness).state(testimony.clone())).await;
    let envelope = envelope([])
        .with_header("tenant", "blue")
        .with_correlation_id("process-7")
        .with_delivery_attempt(3);
    bench.plan.commits([CommitFault::Refused(inbox::Fault::Serialization)]);
    assert_eq!(bench.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    let seen = testimony.0.lock().unwrap();
    assert_eq!(seen.len(), 2, "one for each run");
    for seen in seen.iter() {
        assert_eq!((seen.id, seen.consumer.as_str()), (id_of(&envelope), CONSUMER));
        assert_eq!((seen.attempt, seen.header.as_deref()), (Some(3), Some("blue")));
        assert_eq!(seen.correlation.as_deref(), Some("process-7"));
        assert!(seen.has_deadline_ahead);
    }
}

pub async fn a_state_that_was_not_given_or_given_twice_is_refused_at_build<H: Harness>() {
    let harness = H::start().await;
    let witness = || {
        HandlerRegistration::new::<Witness>(CONSUMER, "witness")
            .with_timeout(Duration::from_secs(1))
    };
    let store = harness.store(StoreOptions::default()).await;
    let without = Inbox::builder().register(witness()).store(store).build().await.unwrap_err();
    let [told] = without.problems() else { panic!("{without}") };
    assert!(told.contains("witness") && told.contains("Testimony") && told.contains(".state("));
    assert!(told.contains(file!()), "{told}");
    let builder = Inbox::builder().state(Testimony::default()).state(Testimony::default());
    let store = harness.store(StoreOptions::default()).await;
    let twice = builder.register(witness()).store(store).build().await.unwrap_err();
    assert!(matches!(twice.problems(), [told] if told.contains("twice")), "{twice}");
}
