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
    async fn answer(&self, kind: AckKind) -> Result<(), BrokerError> {
        match self.ways.confirmed {
            true => self.message.double_ack_with(kind).await,
            false => self.message.ack_with(kind).await,
        }
    }

    /// The letter's headers: those of the message, and why it was put away.
    fn headers_of(&self, letter: &DeadLetter) -> HeaderMap {
        let mut headers = self.message.headers.clone().unwrap_or_default();
        if let Some(id) = headers.get("Nats-Msg-Id").cloned() {
            headers.insert("Inbox-Msg-Id", id);
        }
        // Put away again, for want of an acknowledgement, it is dropped within the stream's window.
        headers.insert("Nats-Msg-Id", format!("{} {}", letter.consumer, letter.key).as_str());
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
}

/// As a header can hold it.
fn in_one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
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
        self.answer(AckKind::Term).await
    }

    async fn keep(&self) -> Result<(), BrokerError> {
        self.message.ack_with(AckKind::Progress).await
    }
}
