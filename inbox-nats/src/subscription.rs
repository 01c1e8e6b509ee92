//! [`NatsSubscription`]: what the application asks for.

use std::sync::Arc;

use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::pull;
use inbox::{
    Attempts, Consumer, DeadLetters, InboxStore, RunningSubscription, StartError,
    SubscriptionOptions,
};

use crate::check;
use crate::delivery::Ways;
use crate::pull::Puller;
use crate::read::Reading;

/// A durable pull consumer of a stream, on its way to an inbox; see the [crate's first page](crate).
#[derive(Clone, Debug)]
pub struct NatsSubscription {
    jetstream: Context,
    stream: String,
    durable: String,
    options: SubscriptionOptions,
    reading: Reading,
    dead_letters: String,
    confirmed: bool,
}

impl NatsSubscription {
    /// For the consumer `durable` of `stream`, which both have to be there.
    pub fn new(jetstream: Context, stream: impl Into<String>, durable: impl Into<String>) -> Self {
        let (stream, durable) = (stream.into(), durable.into());
        let dead_letters = format!("dead.{stream}.{durable}");
        Self {
            jetstream,
            stream,
            durable,
            options: SubscriptionOptions::default(),
            reading: Reading::default(),
            dead_letters,
            confirmed: true,
        }
    }

    /// Workers, batches, order, retries, and where dead letters go. How often the server is told that a
    /// message is worked on is set here: every third of the ack wait.
    pub fn options(mut self, options: SubscriptionOptions) -> Self {
        self.options = options;
        self
    }

    /// The source of messages that name none, so that ids which are no UUIDs can be told apart.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.reading.source = Some(source.into());
        self
    }

    /// The event type of a message without `ce-type`, from its subject. The subject itself unless set.
    pub fn event_type(mut self, of: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.reading.event_type = Arc::new(of);
        self
    }

    /// The subject of dead letters, which a stream must keep: `dead.STREAM.DURABLE` unless set.
    pub fn dead_letter_subject(mut self, subject: impl Into<String>) -> Self {
        self.dead_letters = subject.into();
        self
    }

    /// Acknowledges without waiting for the server's word. Faster where the network is slow; one that is
    /// lost costs a redelivery, which is skipped.
    pub fn without_confirmed_acks(mut self) -> Self {
        self.confirmed = false;
        self
    }

    /// Checks the stream and its consumer, and starts to fetch.
    ///
    /// # Errors
    /// The server does not answer; the stream or the consumer is not there; or they would lose messages
    /// or starve: all that is wrong at once, each with its remedy.
    pub async fn start<S: InboxStore + Attempts + DeadLetters>(
        self,
        inbox: &Consumer<S>,
    ) -> Result<RunningSubscription, StartError> {
        let looking = "looking the stream up";
        let stream = self.jetstream.get_stream(&self.stream).await;
        let stream = stream.map_err(StartError::broker(looking))?;
        let consumer = stream.get_consumer::<pull::Config>(&self.durable).await;
        let consumer = consumer.map_err(StartError::broker("looking the consumer up"))?;
        let config = &consumer.cached_info().config;
        let subject = check::Subject {
            stream: &stream.cached_info().config,
            consumer: config,
            options: &self.options,
            dead_letters: &self.dead_letters,
        };
        StartError::refused_for(check::problems(&subject, &self.jetstream).await)?;
        let options = self.options.keep_every(config.ack_wait / 3);
        let client = self.jetstream.client();
        let replies = client.new_inbox();
        let answers = client.subscribe(format!("{replies}.*")).await;
        let answers = answers.map_err(StartError::broker("subscribing"))?;
        let ways = Ways {
            jetstream: self.jetstream,
            dead_letters: self.dead_letters,
            confirmed: self.confirmed,
        };
        let (ways, reading) = (Arc::new(ways), self.reading);
        let puller = Puller { consumer, ways, reading, inbox: replies, answers, requests: 0 };
        inbox.start(options, |intake| puller.run(intake))
    }
}
