//! What an engine promises to an adapter, and what it bears from one: brokers that refuse, that do not
//! answer, and that lose patience.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::transport::Line;
use conformance::{ClaimFault, End, envelope};
use inbox::{
    BrokerError, DeadLetter, DeadLettersTo, DeliveryOrder, Fault, Health, Incoming, Intake,
    RetryPolicy, Settle, SubscriptionOptions,
};
use tokio_util::sync::CancellationToken;

use crate::{Channel, store};

type Bench = Line<store::Sqlite<true>, Channel>;

/// An adapter that remembers what it was told, and does as a broker may.
#[derive(Clone, Default)]
struct Adapter(Arc<Told>);

#[derive(Default)]
struct Told {
    acks: AtomicUsize,
    keeps: AtomicUsize,
    retries: Mutex<Vec<Duration>>,
    letters: Mutex<Vec<DeadLetter>>,
    /// How many dead letters it still refuses, and how many it has refused.
    refuses: AtomicUsize,
    refused: AtomicUsize,
    /// Whether an acknowledgement is never answered.
    is_silent: bool,
}

impl Adapter {
    fn acks(&self) -> usize {
        self.0.acks.load(Ordering::SeqCst)
    }

    fn keeps(&self) -> usize {
        self.0.keeps.load(Ordering::SeqCst)
    }
}

impl Settle for Adapter {
    async fn ack(&self) -> Result<(), BrokerError> {
        self.0.acks.fetch_add(1, Ordering::SeqCst);
        if self.0.is_silent {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn retry(&self, after: Duration) -> Result<(), BrokerError> {
        self.0.retries.lock().unwrap().push(after);
        Ok(())
    }

    async fn dead_letter(&self, letter: &DeadLetter) -> Result<(), BrokerError> {
        if self.0.refuses.load(Ordering::SeqCst) > 0 {
            self.0.refuses.fetch_sub(1, Ordering::SeqCst);
            self.0.refused.fetch_add(1, Ordering::SeqCst);
            return Err("the broker cannot be reached".into());
        }
        self.0.letters.lock().unwrap().push(letter.clone());
        Ok(())
    }

    async fn keep(&self) -> Result<(), BrokerError> {
        self.0.keeps.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn intake<B: Settle>(line: &Bench, options: SubscriptionOptions) -> Intake<B> {
    let consumer = line.bench.consumer();
    consumer.subscribe(options, Health::default(), CancellationToken::new()).unwrap()
}

/// A message that waits for the test, then ends well.
fn waiting() -> inbox::Envelope {
    envelope([End::Wait(Box::new(End::Ok))])
}

/// As if so much time had passed: whoever waits for it goes on.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_broker_hears_of_what_is_worked_on_and_of_nothing_that_is_settled() {
    let line = Bench::start().await;
    let options = SubscriptionOptions::default().batch(1).workers(1);
    let intake = intake(&line, options.keep_every(Duration::from_millis(40)));
    let adapters = [Adapter::default(), Adapter::default()];
    intake.hand_in(Incoming::new(waiting(), adapters[0].clone()));
    intake.hand_in(Incoming::new(waiting(), adapters[1].clone())); // it waits for the worker
    line.bench.probe.arrived().await;
    for adapter in &adapters {
        line.until("it has heard of both", async || adapter.keeps() >= 3).await;
    }
    line.bench.probe.open();
    line.until("the first is settled", async || intake.unsettled() == 1).await;
    let (first, second) = (adapters[0].keeps(), adapters[1].keeps());
    line.until("it has heard of the other", async || adapters[1].keeps() >= second + 3).await;
    assert_eq!(adapters[0].keeps(), first, "it is settled");
    line.bench.probe.open();
    intake.drain().await;
}

#[tokio::test]
async fn a_dead_letter_that_cannot_be_put_away_is_kept_and_only_that_is_tried_again() {
    for to in [DeadLettersTo::Broker, DeadLettersTo::Store] {
        let line = Bench::start().await;
        let intake = intake(&line, SubscriptionOptions::default().dead_letters(to));
        let adapter = Adapter::default();
        adapter.0.refuses.store(1, Ordering::SeqCst);
        line.bench.plan.put_aways([ClaimFault::Fails(Fault::Other)]);
        let message = envelope([End::Permanent]);
        intake.hand_in(Incoming::new(message.clone(), adapter.clone()));
        let asked = || adapter.0.refused.load(Ordering::SeqCst) > 0;
        let calls = || line.bench.plan.calls();
        line.until("it was refused", async || asked() || calls().contains(&"put away")).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!((intake.unsettled(), adapter.acks()), (1, 0), "nothing is durable yet");
        pass(Duration::from_secs(6)).await;
        line.until("it is settled", async || intake.unsettled() == 0).await;
        intake.drain().await;
        let at_the_broker = adapter.0.letters.lock().unwrap().len();
        let in_the_store = line.stored_letters().await.len();
        let expected = match to {
            DeadLettersTo::Broker => (1, 0, 0),
            DeadLettersTo::Store => (0, 1, 1),
        };
        assert_eq!((at_the_broker, in_the_store, adapter.acks()), expected, "{to:?}");
        assert_eq!(line.starts_of(&message), 1, "it was run again");
    }
}

#[tokio::test]
async fn a_later_delivery_that_cannot_be_counted_is_not_begun() {
    for fault in [ClaimFault::Fails(Fault::Other), ClaimFault::Stalls] {
        let line = Bench::start().await;
        let intake = intake(&line, SubscriptionOptions::default());
        line.bench.plan.counts([fault]);
        let (message, adapter) = (envelope([]), Adapter::default());
        let again = message.clone().with_delivery_attempt(2);
        intake.hand_in(Incoming::new(again, adapter.clone()));
        line.until("it is settled", async || intake.unsettled() == 0).await;
        intake.drain().await;
        assert_eq!(line.bench.plan.calls(), ["count", "count", "claim", "commit"]);
        assert_eq!(adapter.acks(), 1);
        line.assert_each_once(&[message]).await;
    }
}

#[tokio::test]
async fn what_is_held_at_the_end_is_given_back_with_what_follows_it() {
    let line = Bench::start().await;
    let hour = Duration::from_secs(3600);
    let retries = RetryPolicy::default().waits(hour, hour);
    let options = SubscriptionOptions::default().order(DeliveryOrder::Strict).retries(retries);
    let intake = intake(&line, options);
    let adapters = [Adapter::default(), Adapter::default()];
    let messages = [envelope([End::Error]), envelope([])];
    for (message, adapter) in messages.iter().zip(&adapters) {
        intake.hand_in(Incoming::new(message.clone(), adapter.clone()));
    }
    line.until("it failed", async || line.starts_of(&messages[0]) == 1).await;
    let drained = tokio::time::timeout(Duration::from_secs(30), intake.drain()).await;
    assert!(drained.is_ok(), "it waits for what is held");
    let retries = |adapter: &Adapter| adapter.0.retries.lock().unwrap().clone();
    for adapter in &adapters {
        assert_eq!(
            retries(adapter),
            [Duration::ZERO],
            "who waits at the broker is overtaken there"
        );
    }
    assert_eq!(line.starts_of(&messages[1]), 0, "it has overtaken the first");
}

#[tokio::test]
async fn a_broker_that_never_answers_holds_up_no_worker() {
    let line = Bench::start().await;
    let options = SubscriptionOptions::default().order(DeliveryOrder::Strict);
    let intake = intake(&line, options);
    let silent = Adapter(Arc::new(Told { is_silent: true, ..Told::default() }));
    let next = Adapter::default();
    intake.hand_in(Incoming::new(envelope([]), silent.clone()));
    intake.hand_in(Incoming::new(envelope([]), next.clone()));
    line.until("it was told", async || silent.acks() == 1).await;
    assert_eq!(next.acks(), 0);
    pass(Duration::from_secs(11)).await;
    line.until("the next is settled", async || next.acks() == 1).await;
    intake.drain().await;
}

/// An adapter that panics where it should acknowledge.
struct Clumsy;

impl Settle for Clumsy {
    async fn ack(&self) -> Result<(), BrokerError> {
        panic!("an adapter's own");
    }

    async fn retry(&self, _: Duration) -> Result<(), BrokerError> {
        Ok(())
    }

    async fn dead_letter(&self, _: &DeadLetter) -> Result<(), BrokerError> {
        Ok(())
    }
}

#[tokio::test]
async fn an_adapter_that_panics_ends_its_subscription_loudly() {
    let line = Bench::start().await;
    let options = SubscriptionOptions::default().order(DeliveryOrder::Strict);
    let intake = intake(&line, options);
    for _ in 0..2 {
        intake.hand_in(Incoming::new(envelope([]), Clumsy));
    }
    let ended = tokio::spawn(async move {
        while intake.room().await.is_some() {
            tokio::task::yield_now().await;
        }
        intake.drain().await;
    });
    assert!(ended.await.unwrap_err().is_panic());
    assert_eq!(line.bench.probe.starts(), 1, "the second one would have overtaken the first");
}
