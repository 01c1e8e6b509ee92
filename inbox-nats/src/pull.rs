//! The loop that fetches: one pull request at a time, for as many messages as there is room for.

use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream;
use async_nats::jetstream::consumer::pull::BatchConfig;
use async_nats::jetstream::consumer::{Consumer, pull};
use async_nats::{Message, StatusCode, Subscriber};
use futures_util::{FutureExt as _, StreamExt as _};
use inbox::{Incoming, Intake};
use tokio::time::{Instant, timeout, timeout_at};

use crate::delivery::{NatsDelivery, Ways};
use crate::read::Reading;

/// How long the server keeps a pull request: what a stop waits for at most, so that nothing which the
/// server sends in answer to it is left unread.
const EXPIRES: Duration = Duration::from_secs(1);

/// How much longer an answer may take.
const GRACE: Duration = Duration::from_secs(3);

/// How long it waits after a request that failed.
const PAUSE: Duration = Duration::from_millis(500);

/// How often the connection is looked at while there is no room for more.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) struct Puller {
    pub(crate) consumer: Consumer<pull::Config>,
    pub(crate) ways: Arc<Ways>,
    pub(crate) reading: Reading,
    pub(crate) inbox: String,
    /// Of everything below `inbox`, so that what arrives after its request was given up is not lost.
    pub(crate) answers: Subscriber,
    pub(crate) requests: u64,
}

impl Puller {
    /// Fetches until the subscription is to end, and finishes what was fetched.
    pub(crate) async fn run(mut self, intake: Intake<NatsDelivery>) {
        let mut fetches = true;
        loop {
            let pulled = match timeout(LOOK, intake.room()).await {
                Ok(Some(room)) => self.pull(room, &intake).await,
                Ok(None) => break,
                Err(_) => {
                    intake.health().set_connected(fetches && self.is_connected());
                    continue;
                }
            };
            fetches = pulled.is_ok();
            intake.health().set_connected(fetches);
            if let Err(problem) = pulled {
                let consumer = &self.consumer.cached_info().name;
                tracing::warn!(consumer, "no messages can be fetched: {problem}; trying again");
                let _ = timeout(PAUSE, intake.stopping()).await;
            }
        }
        while let Some(Some(message)) = self.answers.next().now_or_never() {
            self.take(message, &intake);
        }
        intake.health().set_connected(false);
        intake.drain().await;
        // The process may end now: what was not confirmed leaves before.
        let _ = timeout(GRACE, self.ways.jetstream.client().flush()).await;
    }

    fn is_connected(&self) -> bool {
        self.ways.jetstream.client().connection_state() == State::Connected
    }

    /// As many as there is room for and as long as is usual, or what the consumer grants.
    fn request(&self, room: usize) -> BatchConfig {
        let granted = &self.consumer.cached_info().config;
        let most = usize::try_from(granted.max_batch).ok().filter(|most| *most > 0);
        let longest = Some(granted.max_expires).filter(|longest| !longest.is_zero());
        BatchConfig {
            batch: most.map_or(room, |most| room.min(most)),
            expires: Some(longest.map_or(EXPIRES, |longest| EXPIRES.min(longest))),
            ..BatchConfig::default()
        }
    }

    /// One request and all that is answered to it.
    async fn pull(&mut self, room: usize, intake: &Intake<NatsDelivery>) -> Result<(), String> {
        if !self.is_connected() {
            // The client would keep the request, and all those after it, for when it is connected again.
            return Err("not connected".to_owned());
        }
        self.requests += 1;
        let reply = format!("{}.{}", self.inbox, self.requests);
        let request = self.request(room);
        let mut left = request.batch;
        let deadline = Instant::now() + EXPIRES + GRACE;
        let sent =
            timeout_at(deadline, self.consumer.request_batch(request, reply.as_str().into()));
        match sent.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(error.to_string()),
            Err(_) => return Err("the request could not be sent".to_owned()),
        }
        while left > 0 {
            let message = match timeout_at(deadline, self.answers.next()).await {
                Ok(Some(message)) => message,
                Ok(None) => return Err("the connection was closed".to_owned()),
                Err(_) => return Err("the server does not answer".to_owned()),
            };
            match message.status {
                None | Some(StatusCode::OK) => {
                    self.take(message, intake);
                    left -= 1;
                }
                Some(status) if message.subject.as_str() == reply => return end(status, &message),
                Some(_) => {} // of a request that was given up
            }
        }
        Ok(())
    }

    fn take(&self, message: Message, intake: &Intake<NatsDelivery>) {
        if !matches!(message.status, None | Some(StatusCode::OK)) {
            return;
        }
        let (envelope, problem) = self.reading.read(&message);
        let message = jetstream::Message { context: self.ways.jetstream.clone(), message };
        let delivered = message.info().ok().map(|info| info.delivered);
        let deliveries = delivered.and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
        let envelope = envelope.with_delivery_attempt(deliveries);
        let delivery = NatsDelivery { message, ways: Arc::clone(&self.ways) };
        intake.hand_in(match problem {
            None => Incoming::new(envelope, delivery),
            Some(problem) => Incoming::unusable(envelope, problem, delivery),
        });
    }
}

/// How a request ended that was not filled.
fn end(status: StatusCode, message: &Message) -> Result<(), String> {
    match status {
        StatusCode::NOT_FOUND | StatusCode::TIMEOUT => Ok(()),
        StatusCode::NO_RESPONDERS => Err("no JetStream server answers for the consumer".to_owned()),
        _ => Err(message.description.clone().unwrap_or_else(|| status.to_string())),
    }
}
