//! Attempts and dead letters of [`Faulty`].

use inbox::{Attempts, DeadLetter, DeadLetters, MessageId, StoreError, StoredDeadLetter};
use uuid::Uuid;

use crate::faulty::{Faulty, happens};

impl<S: Attempts> Attempts for Faulty<S> {
    async fn begin(&self, consumer: &'static str, id: MessageId) -> Result<u32, StoreError> {
        happens(self.plan.next_count()).await?;
        self.store.begin(consumer, id).await
    }

    async fn take_back(&self, consumer: &'static str, id: MessageId) -> Result<(), StoreError> {
        self.store.take_back(consumer, id).await
    }

    async fn forget(&self, consumer: &'static str, id: MessageId) -> Result<(), StoreError> {
        self.store.forget(consumer, id).await
    }

    async fn begun(&self, consumer: &'static str, id: MessageId) -> Result<u32, StoreError> {
        self.store.begun(consumer, id).await
    }
}

impl<S: DeadLetters> DeadLetters for Faulty<S> {
    async fn put_away(&self, letter: &DeadLetter) -> Result<(), StoreError> {
        happens(self.plan.next_put_away()).await?;
        self.store.put_away(letter).await
    }

    async fn dead_letters(
        &self,
        consumer: &str,
        after: Option<&StoredDeadLetter>,
        limit: u32,
    ) -> Result<Vec<StoredDeadLetter>, StoreError> {
        self.store.dead_letters(consumer, after, limit).await
    }

    async fn dead_letter(
        &self,
        consumer: &str,
        key: Uuid,
    ) -> Result<Option<StoredDeadLetter>, StoreError> {
        self.store.dead_letter(consumer, key).await
    }

    async fn discard(&self, consumer: &str, key: Uuid) -> Result<bool, StoreError> {
        self.store.discard(consumer, key).await
    }

    async fn skip(&self, consumer: &str, id: MessageId, reason: &str) -> Result<bool, StoreError> {
        self.store.skip(consumer, id, reason).await
    }
}
