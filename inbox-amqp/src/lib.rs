//! RabbitMQ for the [transactional inbox](inbox): a queue whose messages are acknowledged after their
//! commit, and on nothing else.
//!
//! ```no_run
//! # async fn run<S: inbox::InboxStore + inbox::Attempts + inbox::DeadLetters>(
//! #     inbox: inbox::Inbox<S>,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! use inbox::SubscriptionOptions;
//! use inbox_amqp::AmqpSubscription;
//!
//! let subscription = AmqpSubscription::new("amqp://localhost", "orders")
//!     .declare_queue()
//!     .options(SubscriptionOptions::default().workers(8))
//!     .start(&inbox.consumer("orders-service")?)
//!     .await?;
//! // … until the process is told to end:
//! subscription.stop().await; // finishes what was delivered; nothing of it is delivered again
//! # Ok(())
//! # }
//! ```
//!
//! # How a message is read
//! CloudEvents in binary mode (headers `cloudEvents:id` or `cloudEvents_id`, …) and in structured mode
//! (`application/cloudevents+json`). Without them the id is the property `message_id`, the event type
//! `type`, the time `timestamp`, the correlation id `correlation_id`, and the source `app_id`, else what
//! [`AmqpSubscription::source`] says. Other headers are the envelope's.
//!
//! # How a message is settled
//! | | at the broker |
//! |---|---|
//! | processed, skipped, ignored | ack |
//! | failed | published to `QUEUE.retry.Ns` with all that it has, confirmed, then acked; it comes back after the [`RetryPolicy`](inbox::RetryPolicy)'s wait, rounded up to 1, 2, 4, … seconds |
//! | given back at a stop | nack, delivered again at once |
//! | dead letter | published to `QUEUE.dead` with headers `inbox-reason`, `inbox-error`, `inbox-attempts`, `inbox-consumer`, confirmed, then acked |
//!
//! RabbitMQ 3.10 or newer is needed. `amqps://` addresses need a TLS feature of `lapin`, for example
//! `lapin = { version = "4", default-features = false, features = ["rustls"] }` in the application.

mod address;
mod check;
mod consume;
mod delivery;
mod headers;
mod look;
mod publish;
mod read;
mod subscription;
mod topology;

pub use inbox::{RunningSubscription as RunningAmqpSubscription, StartError};
/// The client that this crate is written for.
pub use lapin;
pub use subscription::AmqpSubscription;
