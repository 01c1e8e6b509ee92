//! The part that all transports share: what was delivered is queued, dispatched by workers, alone or in
//! batches, and settled by the [`RetryPolicy`](crate::RetryPolicy).
//!
//! A transport reads from its broker and hands in, through an [`Intake`]; the rest happens here. It tells
//! how its broker acknowledges through [`Settle`].

mod health;
mod intake;
mod keep;
mod options;
mod put_away;
mod queue;
mod running;
mod settle;
mod shared;
mod try_apart;
mod worker;

use std::future::Future;

use crate::dead_letter::DeadLetter;
use crate::envelope::Envelope;
use crate::error::InvalidEnvelope;

pub use health::{Health, SubscriptionHealth};
pub use intake::Intake;
pub use options::{DeadLettersTo, DeliveryOrder, SubscriptionOptions};
pub use running::{RunningSubscription, StartError};

/// An error of a broker's client.
pub type BrokerError = Box<dyn std::error::Error + Send + Sync>;

/// How one delivered message is settled at its broker.
///
/// None of these has to be exact: a message whose settlement is lost is delivered again and skipped. What
/// matters is the order of things, and that is kept here: a message is acknowledged after its commit, and
/// a dead letter is durable before.
pub trait Settle: Send + Sync + 'static {
    /// Acknowledges the message.
    fn ack(&self) -> impl Future<Output = Result<(), BrokerError>> + Send;

    /// Gives it back, to be delivered again after about this time.
    fn retry(
        &self,
        after: std::time::Duration,
    ) -> impl Future<Output = Result<(), BrokerError>> + Send;

    /// Puts it away where the broker keeps dead letters, durably, and then acknowledges it.
    fn dead_letter(
        &self,
        letter: &DeadLetter,
    ) -> impl Future<Output = Result<(), BrokerError>> + Send;

    /// Tells the broker that the message is still worked on, so that it is not delivered to others.
    /// Called as often as [`SubscriptionOptions::keep_every`] says.
    fn keep(&self) -> impl Future<Output = Result<(), BrokerError>> + Send {
        std::future::ready(Ok(()))
    }
}

/// One delivered message on its way in.
#[derive(Debug)]
pub struct Incoming<B> {
    /// The message. Its delivery attempt says which delivery it is; without one it is the first.
    pub envelope: Envelope,
    /// Why the message could not be read into the envelope; it then holds what could be read, and the
    /// message is put away with this as its reason.
    pub unusable: Option<InvalidEnvelope>,
    /// How it is settled.
    pub broker: B,
}

impl<B> Incoming<B> {
    /// A message that was read.
    pub fn new(envelope: Envelope, broker: B) -> Self {
        Self { envelope, unusable: None, broker }
    }

    /// A message that could not be read.
    pub fn unusable(envelope: Envelope, why: InvalidEnvelope, broker: B) -> Self {
        Self { envelope, unusable: Some(why), broker }
    }
}
