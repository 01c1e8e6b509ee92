//! [`Bench`]: a database, an inbox on it, and what a test asks of them.

use std::sync::Arc;
use std::time::Duration;

use inbox::{
    Consumer, DispatchError, Envelope, HandlerRegistration, Inbox, InboxBuilder, MessageId,
    NoStore, Outcome, Worker,
};
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::command::{End, envelope};
use crate::faulty::Faulty;
use crate::harness::{Harness, StoreOptions};
use crate::obey::Obey;
use crate::plan::Plan;
use crate::probe::Probe;

/// The consumer of every test that needs no other.
pub const CONSUMER: &str = "conformance";

/// The deadline of every dispatch of the suite.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20 * 60);

/// A database of its own, with one inbox on it.
pub struct Bench<H: Harness> {
    pub harness: Arc<H>,
    pub inbox: Inbox<Faulty<H::Store>>,
    pub probe: Probe,
    pub plan: Plan,
    worker: Mutex<Worker<Faulty<H::Store>>>,
}

/// Handler number `N` of consumer [`CONSUMER`].
pub(crate) fn handler<H: Harness, const N: usize>(name: &'static str) -> HandlerRegistration {
    HandlerRegistration::new::<Obey<H, N>>(CONSUMER, name)
}

impl<H: Harness> Bench<H> {
    /// With one handler, on a pool of one connection.
    pub async fn start() -> Self {
        Self::with(|builder| builder.register(handler::<H, 0>("obey"))).await
    }

    /// With the handlers and settings that `configure` makes.
    pub async fn with(
        configure: impl FnOnce(InboxBuilder<NoStore>) -> InboxBuilder<NoStore>,
    ) -> Self {
        let harness = Arc::new(H::start().await);
        Self::on(harness, StoreOptions::default(), configure).await
    }

    /// A further inbox on a database, with a pool, a probe and a plan of its own.
    pub async fn on(
        harness: Arc<H>,
        options: StoreOptions,
        configure: impl FnOnce(InboxBuilder<NoStore>) -> InboxBuilder<NoStore>,
    ) -> Self {
        let (probe, plan) = (Probe::default(), Plan::default());
        let store = Faulty::new(harness.store(options).await, &plan);
        let builder = configure(Inbox::builder().deadline(DEADLINE));
        let inbox = builder.store(store).state(probe.clone()).build().await.expect("an inbox");
        let worker = Mutex::new(inbox.consumer(CONSUMER).expect("the suite's consumer").worker());
        Self { harness, inbox, probe, plan, worker }
    }

    /// A second inbox on the same database, with the same one handler.
    pub async fn twin(&self, options: StoreOptions) -> Self {
        let one = |builder: InboxBuilder<NoStore>| builder.register(handler::<H, 0>("obey"));
        Self::on(Arc::clone(&self.harness), options, one).await
    }

    pub async fn dispatch(&self, envelope: &Envelope) -> Result<Outcome, DispatchError> {
        if !H::THROUGH_WORKERS {
            return self.consumer().dispatch(envelope).await;
        }
        match self.worker.try_lock() {
            Ok(mut worker) => worker.dispatch(envelope).await,
            Err(_) => self.consumer().worker().dispatch(envelope).await, // the first one is busy
        }
    }

    pub async fn dispatch_batch(
        &self,
        envelopes: &[Envelope],
    ) -> Vec<Result<Outcome, DispatchError>> {
        match self.worker.try_lock() {
            Ok(mut worker) if H::THROUGH_WORKERS => worker.dispatch_batch(envelopes).await,
            _ => self.consumer().dispatch_batch(envelopes).await,
        }
    }

    pub fn consumer(&self) -> Consumer<Faulty<H::Store>> {
        self.inbox.consumer(CONSUMER).expect("the suite's consumer")
    }

    /// Dispatches a message that ends so, and answers both.
    pub async fn run(&self, end: End) -> (Envelope, Result<Outcome, DispatchError>) {
        let envelope = envelope([end]);
        let answer = self.dispatch(&envelope).await;
        (envelope, answer)
    }

    /// Who wrote effects for the message, sorted.
    pub async fn effects_of(&self, envelope: &Envelope) -> Vec<String> {
        let id = id_of(envelope).to_string();
        let effects = self.harness.effects().await;
        let of_it = effects.iter().filter_map(|effect| effect.split_once(' '));
        of_it.filter(|(_, message)| *message == id).map(|(who, _)| who.to_owned()).collect()
    }

    pub async fn has_row(&self, envelope: &Envelope) -> bool {
        self.harness.dedup_rows(CONSUMER).await.contains(&id_of(envelope))
    }

    /// The message left nothing behind; and when its cause has gone, its redelivery is processed
    /// once, on the same store.
    pub async fn assert_rolled_back_and_reprocessed(&self, envelope: &Envelope) {
        assert_eq!(self.effects_of(envelope).await, [] as [&str; 0]);
        assert!(!self.has_row(envelope).await, "a dedup row was left");
        assert_eq!(self.plan.open(), 0, "a unit of work was left open");
        self.probe.mend();
        assert_eq!(self.dispatch(envelope).await.expect("the redelivery"), Outcome::Processed);
        self.assert_committed_once(envelope).await;
    }

    /// The message's effect and dedup row are there, redelivery changes nothing, and the store is
    /// usable.
    pub async fn assert_committed_once(&self, envelope: &Envelope) {
        let effects = self.effects_of(envelope).await;
        assert!(!effects.is_empty() && self.has_row(envelope).await, "{effects:?}");
        let starts = self.probe.starts();
        let again = self.dispatch(envelope).await.expect("a second redelivery");
        assert_eq!(again, Outcome::SkippedDuplicate);
        assert_eq!(self.probe.starts(), starts, "a duplicate's handler was started");
        assert_eq!(self.effects_of(envelope).await, effects);
        self.assert_usable().await;
    }

    /// The next message is processed, as if nothing had happened.
    pub async fn assert_usable(&self) {
        let (next, answer) = self.run(End::Ok).await;
        assert_eq!(answer.expect("the next message"), Outcome::Processed);
        assert!(self.has_row(&next).await);
        assert!(self.effects_of(&next).await.contains(&"0".to_owned()));
        assert_eq!(self.plan.open(), 0, "a unit of work was left open");
    }
}

/// The id of an envelope that was made by the suite.
pub(crate) fn id_of(envelope: &Envelope) -> MessageId {
    let event = envelope.clone().with_source("any").to_cloud_event_json().expect("a CloudEvent");
    let json: serde_json::Value = serde_json::from_str(&event).expect("JSON");
    let id = json["id"].as_str().expect("an id");
    MessageId::from_uuid(Uuid::try_parse(id).expect("a UUID")).expect("not nil")
}
