//! [`AmqpSubscription`]: what the application asks for, and the handle on what then runs.

use std::sync::Arc;

use inbox::{
    Attempts, Consumer, DeadLetters, DeadLettersTo, DeliveryOrder, Health, InboxStore,
    SubscriptionOptions,
};
use lapin::Connection;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::address::Address;
use crate::check;
use crate::consume::Carrier;
use crate::delivery::AmqpDelivery;
use crate::error::StartError;
use crate::look;
use crate::publish::Publisher;
use crate::read::Reading;
use crate::topology::{Declaration, Names};

/// The longest name of a queue here: AMQP's names end at 255 bytes, and `.retry.131072s` comes behind it.
const LONGEST_NAME: usize = 240;

/// A queue on its way to an inbox; see the [crate's first page](crate).
#[derive(Clone)]
pub struct AmqpSubscription {
    address: String,
    names: Names,
    options: SubscriptionOptions,
    reading: Reading,
    declares: bool,
    limit_accepted: bool,
}

impl AmqpSubscription {
    /// For the queue `queue` of the broker at `address`: `amqp://USER:PASSWORD@HOST:5672/VHOST`. The queue
    /// has to be there, unless it is to be [declared](Self::declare_queue).
    pub fn new(address: impl Into<String>, queue: impl Into<String>) -> Self {
        let queue = queue.into();
        let dead_letters = format!("{queue}.dead");
        Self {
            address: address.into(),
            names: Names { queue, dead_letters },
            options: SubscriptionOptions::default(),
            reading: Reading::default(),
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
        self.reading.source = Some(source.into());
        self
    }

    /// The queue of dead letters, `QUEUE.dead` unless set. It is declared where it is missing.
    pub fn dead_letter_queue(mut self, queue: impl Into<String>) -> Self {
        self.names.dead_letters = queue.into();
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
    ) -> Result<RunningAmqpSubscription, StartError> {
        self.check_names()?;
        let address = Address::parse(&self.address)?;
        self.check_queue(&address).await?;
        let carrier = self.carrier(address, inbox.name());
        let link = carrier.connect().await.map_err(StartError::broker("starting to consume"))?;
        let (health, stop) = (Health::default(), CancellationToken::new());
        let intake = inbox
            .subscribe::<AmqpDelivery>(self.options, health.clone(), stop.clone())
            .ok_or(StartError::Stopping)?;
        let task = tokio::spawn(carrier.run(link, intake));
        Ok(RunningAmqpSubscription { task, stop, health })
    }

    fn check_names(&self) -> Result<(), StartError> {
        let Names { queue, dead_letters } = &self.names;
        let mut problems = Vec::new();
        for name in [queue, dead_letters] {
            if name.is_empty() || name.len() > LONGEST_NAME {
                problems.push(format!(
                    "`{name}` is no name for a queue here: it needs 1 to {LONGEST_NAME} bytes"
                ));
            }
        }
        if queue == dead_letters {
            problems.push(
                "the dead letters would come back as messages: name another queue for them with \
                 `dead_letter_queue`"
                    .to_owned(),
            );
        }
        refused(problems)
    }

    async fn check_queue(&self, address: &Address) -> Result<(), StartError> {
        let connection =
            address.connect("inbox: looking").await.map_err(StartError::broker("connecting"))?;
        let problems = self.look(&connection).await;
        let problems = problems.map_err(StartError::broker("looking the queue up"))?;
        let _ = connection.close(200, "done".into()).await; // its end is all that matters
        refused(problems)
    }

    async fn look(&self, connection: &Connection) -> Result<Vec<String>, lapin::Error> {
        let Some(found) = look::look_up(connection, &self.names.queue).await? else {
            let missing = format!(
                "there is no queue `{}`: create it, or have it declared with `declare_queue`",
                self.names.queue
            );
            return Ok(if self.declares { Vec::new() } else { vec![missing] });
        };
        let (options, limit_accepted) = (&self.options, self.limit_accepted);
        Ok(check::problems(&check::Subject { found: &found, options, limit_accepted }))
    }

    fn carrier(&self, address: Address, consumer: &str) -> Carrier {
        let publisher = Publisher {
            address: address.clone(),
            connection_name: format!("inbox: retries and dead letters of {consumer}"),
            names: self.names.clone(),
            open: Mutex::new(None),
        };
        Carrier {
            address,
            connection_name: format!("inbox: {consumer}"),
            queue: self.names.queue.clone(),
            declarations: self.declarations(),
            prefetch: u16::try_from(self.options.most_unsettled()).unwrap_or(u16::MAX),
            reading: self.reading.clone(),
            publisher: Arc::new(publisher),
        }
    }

    fn declarations(&self) -> Vec<Declaration> {
        let to_broker = self.options.dead_letters_go_to() == DeadLettersTo::Broker;
        let strict = self.options.delivery_order() == DeliveryOrder::Strict;
        let dead_letters = to_broker.then(|| self.names.dead_letters());
        let queue = self.declares.then(|| self.names.queue(strict, to_broker));
        dead_letters.into_iter().chain(queue).collect()
    }
}

/// Without the address, which may hold a password.
impl std::fmt::Debug for AmqpSubscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AmqpSubscription")
            .field("names", &self.names)
            .field("options", &self.options)
            .field("reading", &self.reading)
            .field("declares", &self.declares)
            .field("limit_accepted", &self.limit_accepted)
            .finish_non_exhaustive()
    }
}

fn refused(problems: Vec<String>) -> Result<(), StartError> {
    if problems.is_empty() { Ok(()) } else { Err(StartError::Refused(problems)) }
}

/// A subscription that consumes and dispatches until it is stopped, or its inbox is. It connects anew by
/// itself. Dropped, it ends at once, and the broker delivers what was unsettled again.
#[derive(Debug)]
pub struct RunningAmqpSubscription {
    task: JoinHandle<()>,
    stop: CancellationToken,
    health: Health,
}

impl RunningAmqpSubscription {
    /// How it is doing.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Consumes no more, finishes what was delivered, and resolves when all of it is settled: nothing of it
    /// is delivered again, but for messages that were waiting for another try.
    pub async fn stop(mut self) {
        self.stop.cancel();
        // Its end is all that matters: it answers nothing, and a panic in it has been printed.
        let _ = (&mut self.task).await;
    }
}

impl Drop for RunningAmqpSubscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}
