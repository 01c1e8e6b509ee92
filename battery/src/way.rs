use inbox::{Consumer, DispatchError, InboxStore, Outcome, Worker};

use crate::{Message, message};

/// One way to deliver to one consumer.
pub enum Way<S: InboxStore> {
    /// Each message by itself.
    Plain(Consumer<S>),
    /// Through a worker, which holds its connection between two messages.
    Held(Worker<S>),
}

impl<S: InboxStore> Way<S> {
    /// Delivers a message once.
    ///
    /// # Errors
    /// As the inbox answers.
    pub async fn deliver(&mut self, one: Message) -> Result<Outcome, DispatchError> {
        match self {
            Self::Plain(consumer) => consumer.dispatch(&message(one)).await,
            Self::Held(worker) => worker.dispatch(&message(one)).await,
        }
    }
}
