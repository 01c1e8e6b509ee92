//! A message that is tried apart from others: one that was delivered before, or that failed here. Each
//! try is counted durably before it begins, so that a message which takes the process along is found.

use std::time::Duration;

use tokio::sync::{RwLockReadGuard, RwLockWriteGuard};

use super::Settle;
use super::queue::Waiting;
use super::settle::stored_in_time;
use super::shared::Entry;
use super::worker::Worker;
use crate::attempts::Attempts;
use crate::dead_letter::DeadLetters;
use crate::error::DispatchError;
use crate::message_id::MessageId;
use crate::settlement::DeadLetterReason;
use crate::store::{InboxStore, StoreError};
use crate::telemetry;

/// What a message that was begun too often is put away with.
const NEVER_ANSWERED: &str = "it was begun as often as the policy allows, and each time the process \
                              ended, or gave it up, before there was an answer";

/// How long a message is held whose count cannot be written: the database cannot be reached.
const NO_COUNT: Duration = Duration::from_millis(500);

/// That handlers run, until it is dropped.
#[expect(dead_code, reason = "held, not read")]
enum Running<'a> {
    BesideOthers(RwLockReadGuard<'a, ()>),
    Alone(RwLockWriteGuard<'a, ()>),
}

impl<S: InboxStore + Attempts + DeadLetters, B: Settle> Worker<S, B> {
    pub(super) async fn try_apart(
        &self,
        worker: &mut crate::worker::Worker<S>,
        mut waiting: Waiting<Entry<B>>,
    ) {
        let entry = &mut waiting.item;
        if let Some(letter) = entry.letter.take() {
            return self.put_away(waiting, letter).await;
        }
        if let Some(error) = entry.unusable.clone() {
            return self.settle(waiting, None, Err(DispatchError::from(error)), 1).await;
        }
        // Without a valid id the dispatch answers so, and no handler is started.
        let Ok(message_id) = self.consumer.message_id(&entry.envelope) else {
            let answer = worker.dispatch_entered(&entry.envelope).await;
            return self.settle(waiting, None, answer, 1).await;
        };
        let limit = self.shared.options.retries.limit();
        let (begun, _running) = match self.begin_in_its_turn(message_id, limit).await {
            Ok(begun) => begun,
            Err(error) => {
                telemetry::attempts_failed(self.consumer.name(), &error);
                return self.shared.hold(waiting, NO_COUNT);
            }
        };
        if limit.is_some_and(|limit| begun > limit) {
            let error = NEVER_ANSWERED.to_owned();
            let reason = DeadLetterReason::NeverAnswered;
            let letter = self.letter(entry, Some(message_id), (reason, error, begun - 1));
            return self.put_away(waiting, letter).await;
        }
        let answer = worker.dispatch_entered(&entry.envelope).await;
        let had_no_chance = answer.as_ref().is_err_and(|error| !error.counts_attempt());
        if had_no_chance {
            let take_back = self.consumer.store().take_back(self.consumer.name(), message_id);
            self.note(stored_in_time(take_back).await);
        }
        let attempts = begun.saturating_sub(u32::from(had_no_chance));
        self.settle(waiting, Some(message_id), answer, attempts).await;
    }

    /// The last try that the policy allows runs while no other handler of the process does: who was only
    /// beside a message that takes the process along is not put away for it.
    async fn begin_in_its_turn(
        &self,
        message_id: MessageId,
        limit: Option<u32>,
    ) -> Result<(u32, Running<'_>), StoreError> {
        let begun = match limit {
            Some(_) => self.consumer.store().begun(self.consumer.name(), message_id),
            None => return Ok((self.begin(message_id).await?, self.beside_others().await)),
        };
        let is_the_last = limit <= Some(stored_in_time(begun).await?.saturating_add(1));
        let running = match is_the_last {
            true => Running::Alone(self.shared.running.write().await),
            false => self.beside_others().await,
        };
        Ok((self.begin(message_id).await?, running))
    }

    async fn beside_others(&self) -> Running<'_> {
        Running::BesideOthers(self.shared.running.read().await)
    }

    pub(super) async fn begin(&self, message_id: MessageId) -> Result<u32, StoreError> {
        stored_in_time(self.consumer.store().begin(self.consumer.name(), message_id)).await
    }

    /// A lost note does no harm: the message is tried once more or once less, or a row stays until it is
    /// pruned.
    pub(super) fn note(&self, written: Result<(), StoreError>) {
        if let Err(error) = written {
            telemetry::attempts_failed(self.consumer.name(), &error);
        }
    }
}
