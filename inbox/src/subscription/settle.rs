//! What is done with a message that was answered.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::queue::Waiting;
use super::shared::Entry;
use super::worker::Worker;
use super::{BrokerError, Settle};
use crate::attempts::Attempts;
use crate::dead_letter::DeadLetters;
use crate::error::DispatchError;
use crate::message_id::MessageId;
use crate::outcome::Outcome;
use crate::settlement::{Settlement, Try};
use crate::store::{Fault, InboxStore, StoreError};
use crate::telemetry;

type Answer = Result<Outcome, DispatchError>;

impl<S: InboxStore + Attempts + DeadLetters, B: Settle> Worker<S, B> {
    /// Of a first delivery. It wrote nothing before; where it failed and is to be tried again, it is
    /// counted now.
    pub(super) async fn settle_first(&self, waiting: Waiting<Entry<B>>, answer: Answer) {
        let counts = answer.as_ref().is_err_and(DispatchError::counts_attempt);
        let comes_back = counts && answer.as_ref().is_err_and(DispatchError::is_transient);
        let counted = match comes_back {
            true => self.consumer.message_id(&waiting.item.envelope).ok(),
            false => None,
        };
        if let Some(message_id) = counted {
            self.note(self.begin(message_id).await.map(|_| ()));
        }
        self.settle(waiting, counted, answer, u32::from(counts)).await;
    }

    /// `counted`: the message whose tries are counted in the store.
    pub(super) async fn settle(
        &self,
        waiting: Waiting<Entry<B>>,
        counted: Option<MessageId>,
        answer: Answer,
        attempts: u32,
    ) {
        let tried =
            Try { attempts, ordered: waiting.lane.is_some(), seed: seed(&waiting, counted) };
        let settlement = self.shared.options.retries.settle(&answer, tried);
        telemetry::settled(self.consumer.name(), &answer, settlement, attempts);
        match (settlement, answer) {
            (Settlement::Hold(time), _) => self.shared.hold(waiting, time),
            (Settlement::Retry(time), _) => {
                self.told(waiting.item.broker.retry(time)).await;
                self.shared.done(&waiting);
            }
            (Settlement::DeadLetter(reason), Err(error)) => {
                let message_id = error.message_id();
                let letter = self.letter(
                    &waiting.item,
                    message_id,
                    (reason, format!("{error:#}"), attempts),
                );
                self.put_away(waiting, letter).await;
            }
            (Settlement::Ack | Settlement::DeadLetter(_), _) => {
                self.told(waiting.item.broker.ack()).await;
                if let Some(message_id) = counted {
                    self.forget(message_id).await;
                }
                self.shared.done(&waiting);
            }
        }
    }

    /// The subscription ends, and the message would have to wait. One of a lane is given back at once:
    /// while it waited at the broker, those behind it would overtake it.
    pub(super) async fn give_back(&self, waiting: Waiting<Entry<B>>) {
        let left = match (&waiting.lane, waiting.not_before) {
            (None, Some(at)) => at - Instant::now(),
            _ => Duration::ZERO,
        };
        self.told(waiting.item.broker.retry(left)).await;
        self.shared.done(&waiting);
    }

    pub(super) async fn forget(&self, message_id: MessageId) {
        let forget = self.consumer.store().forget(self.consumer.name(), message_id);
        self.note(stored_in_time(forget).await);
    }

    /// A settlement that is lost costs a redelivery. Whether it was told.
    pub(super) async fn told(&self, told: impl Future<Output = Result<(), BrokerError>>) -> bool {
        let told = in_time(told).await;
        if let Err(error) = &told {
            telemetry::settlement_failed(self.consumer.name(), &**error);
        }
        told.is_ok()
    }
}

/// How long a broker may take for an answer.
const ANSWER: Duration = Duration::from_secs(10);

pub(super) async fn in_time(
    told: impl Future<Output = Result<(), BrokerError>>,
) -> Result<(), BrokerError> {
    timeout(ANSWER, told).await.unwrap_or_else(|_| Err("no answer from the broker".into()))
}

/// The same of the store's own answers; a dispatch has a deadline of its own.
pub(super) async fn stored_in_time<T>(
    told: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let silent = || StoreError::new(Fault::Busy, "no answer from the database");
    timeout(ANSWER, told).await.unwrap_or_else(|_| Err(silent()))
}

/// What spreads the waits of messages that failed together.
fn seed<B>(waiting: &Waiting<Entry<B>>, message_id: Option<MessageId>) -> u64 {
    let (high, low) = message_id.map_or((0, 0), |id| id.as_uuid().as_u64_pair());
    high ^ low ^ waiting.item.number
}
