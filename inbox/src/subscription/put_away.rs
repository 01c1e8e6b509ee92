//! A message is put away: first its dead letter is durable, then the broker is told.

use std::time::Duration;

use super::Settle;
use super::options::DeadLettersTo;
use super::queue::Waiting;
use super::settle::{in_time, stored_in_time};
use super::shared::Entry;
use super::worker::Worker;
use crate::attempts::Attempts;
use crate::dead_letter::{DeadLetter, DeadLetters};
use crate::message_id::MessageId;
use crate::settlement::DeadLetterReason;
use crate::store::InboxStore;
use crate::telemetry;

/// How long a dead letter is kept here where it could not be put away.
const AGAIN: Duration = Duration::from_secs(5);

impl<S: InboxStore + Attempts + DeadLetters, B: Settle> Worker<S, B> {
    pub(super) fn letter(
        &self,
        entry: &Entry<B>,
        message_id: Option<MessageId>,
        (reason, error, attempts): (DeadLetterReason, String, u32),
    ) -> DeadLetter {
        DeadLetter {
            key: DeadLetter::key_of(message_id, &entry.envelope),
            consumer: self.consumer.name().to_owned(),
            message_id,
            envelope: entry.envelope.clone(),
            reason,
            error,
            attempts,
        }
    }

    /// Where it cannot be put away, it is kept, and only this is tried again.
    pub(super) async fn put_away(&self, mut waiting: Waiting<Entry<B>>, letter: DeadLetter) {
        let broker = &waiting.item.broker;
        let put_away = match self.shared.options.dead_letters {
            DeadLettersTo::Broker => {
                in_time(broker.dead_letter(&letter)).await.map_err(|e| e.to_string())
            }
            DeadLettersTo::Store => stored_in_time(self.consumer.store().put_away(&letter))
                .await
                .map_err(|e| e.to_string()),
        };
        if let Err(error) = put_away {
            telemetry::not_put_away(self.consumer.name(), letter.message_id, &error);
            waiting.item.letter = Some(letter);
            return self.shared.hold(waiting, AGAIN);
        }
        telemetry::put_away(&letter);
        let acknowledged = match self.shared.options.dead_letters {
            DeadLettersTo::Store => self.told(waiting.item.broker.ack()).await,
            DeadLettersTo::Broker => true,
        };
        // Delivered again and not known, one that takes the process along would do so as often again.
        if let (Some(message_id), true) = (letter.message_id, acknowledged) {
            self.forget(message_id).await;
        }
        self.shared.done(&waiting);
    }
}
