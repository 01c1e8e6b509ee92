//! One delivered message, and how it is settled.

use std::sync::Arc;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::{self, AckKind, Context};
use inbox::{BrokerError, DeadLetter, Settle};

/// What all deliveries of a subscription share.
#[derive(Debug)]
pub(crate) struct Ways {
    pub(crate) jetstream: Context,
    pub(crate) dead_letters: String,
    /// Whether an acknowledgement waits for the server's word.
    pub(crate) confirmed: bool,
}

/// A message on its way through the inbox.
#[derive(Debug)]
pub(crate) struct NatsDelivery {
    pub(crate) message: jetstream::Message,
    pub(crate) ways: Arc<Ways>,
}

impl NatsDelivery {
    /// A confirmation comes as the answer to a request: the client keeps one subscription for those.
    async fn answer(&self, kind: AckKind) -> Result<(), BrokerError> {
        let Some(reply) = self.message.reply.clone().filter(|_| self.ways.confirmed) else {
            return self.message.ack_with(kind).await;
        };
        self.ways.jetstream.client().request(reply, kind.into()).await?;
        Ok(())
    }

    /// The letter's headers: those of the message, and why it was put away. What stood there for the
    /// server when the message was published is not meant again: it would refuse, expire or deduplicate
    /// the letter, or roll others up.
    fn headers_of(&self, letter: &DeadLetter) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, values) in self.message.headers.iter().flat_map(HeaderMap::iter) {
            let name: &str = name.as_ref();
            let is_for_the_server = name.to_ascii_lowercase().starts_with("nats-");
            let name = if is_for_the_server { format!("Inbox-{name}") } else { name.to_owned() };
            values.iter().for_each(|value| headers.append(name.as_str(), value.clone()));
        }
        headers.insert("Nats-Msg-Id", self.letter_id(letter));
        for (name, value) in [
            ("Inbox-Reason", letter.reason.as_str()),
            ("Inbox-Error", &in_one_line(&letter.error)),
            ("Inbox-Attempts", &letter.attempts.to_string()),
            ("Inbox-Consumer", &letter.consumer),
            ("Inbox-Subject", &self.message.subject),
        ] {
            headers.insert(name, value);
        }
        headers
    }

    /// Put away again, for want of an acknowledgement, the letter is dropped within the stream's window.
    /// One of the same message published anew is not: the first letter may be gone by then.
    fn letter_id(&self, letter: &DeadLetter) -> String {
        let published = self.message.info().map_or(0, |info| info.stream_sequence);
        format!("{} {} {published}", letter.consumer, letter.key)
    }
}

/// Longer errors are cut: a letter has to fit where its message did.
const LONGEST_ERROR: usize = 1_024;

/// As a header can hold it.
fn in_one_line(text: &str) -> String {
    text[..text.floor_char_boundary(LONGEST_ERROR)].replace(char::is_control, " ")
}

impl Settle for NatsDelivery {
    async fn ack(&self) -> Result<(), BrokerError> {
        self.answer(AckKind::Ack).await
    }

    async fn retry(&self, after: Duration) -> Result<(), BrokerError> {
        let delay = Some(after).filter(|after| !after.is_zero());
        self.message.ack_with(AckKind::Nak(delay)).await
    }

    async fn dead_letter(&self, letter: &DeadLetter) -> Result<(), BrokerError> {
        let Ways { jetstream, dead_letters, .. } = &*self.ways;
        let (subject, payload) = (dead_letters.clone(), self.message.payload.clone());
        jetstream.publish_with_headers(subject, self.headers_of(letter), payload).await?.await?;
        if let Err(error) = self.answer(AckKind::Term).await {
            tracing::warn!("a dead letter is put away, and its message not settled: {error}");
        }
        Ok(()) // else it would be put away again and again
    }

    async fn keep(&self) -> Result<(), BrokerError> {
        self.message.ack_with(AckKind::Progress).await
    }
}
