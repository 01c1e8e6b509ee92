//! NATS JetStream for the [transactional inbox](inbox): a durable pull consumer whose messages are
//! acknowledged after their commit, and on nothing else.
//!
//! ```no_run
//! # async fn run<S: inbox::InboxStore + inbox::Attempts + inbox::DeadLetters>(
//! #     inbox: inbox::Inbox<S>,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! use inbox::SubscriptionOptions;
//! use inbox_nats::NatsSubscription;
//!
//! let client = inbox_nats::async_nats::connect("localhost").await?;
//! let jetstream = inbox_nats::async_nats::jetstream::new(client);
//! let subscription = NatsSubscription::new(jetstream, "ORDERS", "orders-service")
//!     .options(SubscriptionOptions::default().workers(8))
//!     .start(&inbox.consumer("orders-service")?)
//!     .await?;
//! // … until the process is told to end:
//! subscription.stop().await; // finishes what was fetched; nothing of it is delivered again
//! # Ok(())
//! # }
//! ```
//!
//! # How a message is read
//! CloudEvents in binary mode (headers `ce-id`, `ce-type`, `ce-source`, …) and in structured mode
//! (`application/cloudevents+json`). Without `ce-id` the id is the header `Nats-Msg-Id`; without
//! `ce-type` the event type is the subject, or what [`NatsSubscription::event_type`] makes of it. Other
//! headers are the envelope's. The stream's sequence is never taken as an id: it does not catch what a
//! producer publishes twice.
//!
//! # How a message is settled
//! | | at the broker |
//! |---|---|
//! | processed, skipped, ignored | ack, confirmed by the server |
//! | failed | nak with the [`RetryPolicy`](inbox::RetryPolicy)'s delay |
//! | held, or worked on for long | in progress, every third of the ack wait |
//! | dead letter | published to the dead-letter subject and confirmed, then terminated |

mod check;
mod delivery;
mod pull;
mod read;
mod subscription;

/// The client that this crate is written for.
pub use async_nats;
pub use inbox::{RunningSubscription as RunningNatsSubscription, StartError};
pub use subscription::NatsSubscription;
