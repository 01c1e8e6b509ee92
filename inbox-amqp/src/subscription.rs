//! [`AmqpSubscription`]: what the application asks for.

use std::fmt;
use std::sync::Arc;

use inbox::{
    Attempts, Consumer, DeadLetters, DeadLettersTo, DeliveryOrder, InboxStore, RunningSubscription,
    StartError, SubscriptionOptions,
};
use lapin::uri::AMQPUri;
use tokio::sync::Mutex;

use crate::consume::Carrier;
use crate::publish::Publisher;
use crate::topology::Declaration;
use crate::{address, check, look};

/// The longest name of a queue here: AMQP's names end at 255 bytes, and `.retry.131072s` comes behind it.
const LONGEST_NAME: usize = 240;

/// A queue on its way to an inbox; see the [crate's first page](crate).
#[derive(Clone)]
pub struct AmqpSubscription {
    address: String,
    pub(crate) queue: String,
    dead_letters: String,
    pub(crate) options: SubscriptionOptions,
    pub(crate) source: Option<String>,
    declares: bool,
    limit_accepted: bool,
}

impl AmqpSubscription {
    /// For the queue `queue` of the broker at `address`: `amqp://USER:PASSWORD@HOST:5672/VHOST`. The queue
    /// has to be there, unless it is to be [declared](Self::declare_queue).
    pub fn new(address: impl Into<String>, queue: impl Into<String>) -> Self {
        let queue = queue.into();
        Self {
            address: address.into(),
            dead_letters: format!("{queue}.dead"),
            queue,
            options: SubscriptionOptions::default(),
            source: None,
            declares: false,
            limit_accepted: false,
        }
    }

    /// Workers, batches, order, retries, and where dead letters go. The broker delivers as many messages
    /// ahead as may be unsettled.
    pub fn options(mut self, options: SubscriptionOptions) -> Self {
        self.options = options;
        self
    }

    /// The source of messages that name none and have no `app_id`, so that ids which are no UUIDs can be
    /// told apart.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The queue of dead letters, `QUEUE.dead` unless set. It is declared where it is missing.
    pub fn dead_letter_queue(mut self, queue: impl Into<String>) -> Self {
        self.dead_letters = queue.into();
        self
    }

    /// Declares the queue where it is missing: durable, replicated (a quorum queue), with a delivery limit
    /// that is as good as none and, in [strict order](DeliveryOrder::Strict), with a single active
    /// consumer. Bindings are the application's.
    pub fn declare_queue(mut self) -> Self {
        self.declares = true;
        self
    }

    /// Starts also where the broker may drop messages, or put them away, after a number of redeliveries:
    /// for limits and dead letter exchanges that are set by a policy, which AMQP does not tell, and for
    /// RabbitMQ 3, where a queue that names no limit has none.
    pub fn accept_delivery_limit(mut self) -> Self {
        self.limit_accepted = true;
        self
    }

    /// Checks the queue, and starts to consume.
    ///
    /// # Errors
    /// The address cannot be read; the broker does not answer, or refuses; or the queue is not there or
    /// would lose messages or starve: all that is wrong at once, each with its remedy.
    pub async fn start<S: InboxStore + Attempts + DeadLetters>(
        self,
        inbox: &Consumer<S>,
    ) -> Result<RunningSubscription, StartError> {
        let address = address::parse(&self.address)?;
        StartError::refused_for(self.wrong_names())?;
        self.check(&address).await?;
        let publisher = Publisher {
            address,
            connection_name: format!("inbox: retries and dead letters of {}", inbox.name()),
            queue: self.queue.clone(),
            dead_letters: self.dead_letters.clone(),
            open: Mutex::new(None),
        };
        let options = self.options.clone();
        let carrier = Carrier {
            connection_name: format!("inbox: {}", inbox.name()),
            subscription: self,
            publisher: Arc::new(publisher),
        };
        let link = carrier.connect().await.map_err(StartError::broker("starting to consume"))?;
        inbox.start(options, |intake| carrier.run(link, intake))
    }

    fn wrong_names(&self) -> Vec<String> {
        let names = [&self.queue, &self.dead_letters].into_iter();
        let wrong = names.filter(|name| name.is_empty() || name.len() > LONGEST_NAME);
        let needs = format!("is no name for a queue here: it needs 1 to {LONGEST_NAME} bytes");
        let mut problems: Vec<String> = wrong.map(|name| format!("`{name}` {needs}")).collect();
        if self.queue == self.dead_letters {
            let circle = "the dead letters would come back as messages: name another queue for them with \
                          `dead_letter_queue`";
            problems.push(circle.to_owned());
        }
        problems
    }

    async fn check(&self, address: &AMQPUri) -> Result<(), StartError> {
        let connection = address::connect(address, "inbox: looking").await;
        let connection = connection.map_err(StartError::broker("connecting"))?;
        let found = look::look_up(&connection, &self.queue).await;
        let problems = match found.map_err(StartError::broker("looking the queue up"))? {
            Some(found) => check::problems(&found, &self.options, self.limit_accepted),
            None if self.declares => Vec::new(),
            None => vec![format!(
                "there is no queue `{}`: create it, or have it declared with `declare_queue`",
                self.queue
            )],
        };
        let _ = connection.close(200, "done".into()).await; // its end is all that matters
        StartError::refused_for(problems)
    }

    /// What is declared where it is missing.
    pub(crate) fn declarations(&self) -> impl Iterator<Item = Declaration> {
        let to_broker = self.options.dead_letters_go_to() == DeadLettersTo::Broker;
        let dead_letters = to_broker.then_some(self.dead_letters.as_str());
        let strict = self.options.delivery_order() == DeliveryOrder::Strict;
        let queue = || Declaration::of_messages(&self.queue, strict, dead_letters);
        let dead = dead_letters.map(Declaration::of_dead_letters);
        dead.into_iter().chain(self.declares.then(queue))
    }
}

/// Without the address, which may hold a password.
impl fmt::Debug for AmqpSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("AmqpSubscription");
        shown.field("queue", &self.queue).field("dead_letters", &self.dead_letters);
        shown.field("options", &self.options).finish_non_exhaustive()
    }
}
