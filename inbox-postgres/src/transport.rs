//! Attempts and dead letters: statements in short transactions of their own, on connections of the pool.

use inbox::{
    Attempts, DeadLetter, DeadLetterReason, DeadLetters, Fault, MessageId, Slot, StoreError,
    StoredDeadLetter,
};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::types::time::OffsetDateTime;
use sqlx::types::uuid::Uuid;
use sqlx::{Postgres, Row as _};

use crate::error::store_error;
use crate::lease::Lease;
use crate::sql::{self, Text, safe};
use crate::store::PgInboxStore;

type Query<'q> = sqlx::query::Query<'q, Postgres, sqlx::postgres::PgArguments>;

/// Unnamed: they are rare, and a pooler need not follow them.
fn query(text: &Text) -> Query<'_> {
    sqlx::query(safe(text)).persistent(false)
}

impl PgInboxStore {
    /// Runs something in a transaction of its own, in which a pooler sends all to one server.
    async fn alone<T>(
        &self,
        doing: &'static str,
        run: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        let failed = |error| store_error(doing, error);
        let connection = self.pool().acquire().await.map_err(failed)?;
        let mut lease = Lease::open(connection, sql::BEGIN_DURABLY).await?;
        let answer = run(lease.connection()).await.map_err(failed)?;
        lease.end(sql::COMMIT_AND_CHAIN, &mut Slot::passing()).await?;
        Ok(answer)
    }
}

impl Attempts for PgInboxStore {
    async fn begin(&self, consumer: &'static str, id: MessageId) -> Result<u32, StoreError> {
        let query = query(&self.transport().begin).bind(consumer).bind(id.as_uuid());
        let begun = self.alone("counting an attempt", async |connection| {
            query.fetch_one(connection).await?.try_get::<i32, _>(0)
        });
        Ok(begun.await?.unsigned_abs())
    }

    async fn take_back(&self, consumer: &'static str, id: MessageId) -> Result<(), StoreError> {
        let query = query(&self.transport().take_back).bind(consumer).bind(id.as_uuid());
        self.alone("taking an attempt back", async |connection| {
            query.execute(connection).await.map(drop)
        })
        .await
    }

    async fn forget(&self, consumer: &'static str, id: MessageId) -> Result<(), StoreError> {
        let query = query(&self.transport().forget).bind(consumer).bind(id.as_uuid());
        self.alone("forgetting attempts", async |connection| {
            query.execute(connection).await.map(drop)
        })
        .await
    }

    async fn begun(&self, consumer: &'static str, id: MessageId) -> Result<u32, StoreError> {
        let query = query(&self.transport().begun).bind(consumer).bind(id.as_uuid());
        let begun = self.alone("reading attempts", async |connection| {
            query.fetch_optional(connection).await?.map(|row| row.try_get::<i32, _>(0)).transpose()
        });
        Ok(begun.await?.map_or(0, i32::unsigned_abs))
    }
}

impl DeadLetters for PgInboxStore {
    async fn put_away(&self, letter: &DeadLetter) -> Result<(), StoreError> {
        let query = query(&self.transport().put_away)
            .bind(&letter.consumer)
            .bind(letter.key)
            .bind(letter.message_id.map(|id| id.as_uuid()))
            .bind(letter.metadata())
            .bind(letter.envelope.payload())
            .bind(letter.reason.as_str())
            .bind(letter.error.replace('\0', "\u{fffd}")) // text holds no NUL
            .bind(i32::try_from(letter.attempts).unwrap_or(i32::MAX));
        self.alone("putting a dead letter away", async |connection| {
            query.execute(connection).await.map(drop)
        })
        .await
    }

    async fn dead_letters(
        &self,
        consumer: &str,
        after: Option<&StoredDeadLetter>,
        limit: u32,
    ) -> Result<Vec<StoredDeadLetter>, StoreError> {
        let query = query(&self.transport().list)
            .bind(consumer)
            .bind(after.map(|stored| stored.first_at))
            .bind(after.map(|stored| stored.letter.key))
            .bind(i64::from(limit));
        let rows =
            self.alone(READING, async |connection| query.fetch_all(connection).await).await?;
        rows.iter().map(|row| stored(consumer, row)).collect()
    }

    async fn dead_letter(
        &self,
        consumer: &str,
        key: Uuid,
    ) -> Result<Option<StoredDeadLetter>, StoreError> {
        let query = query(&self.transport().one).bind(consumer).bind(key);
        let row =
            self.alone(READING, async |connection| query.fetch_optional(connection).await).await?;
        row.map(|row| stored(consumer, &row)).transpose()
    }

    async fn discard(&self, consumer: &str, key: Uuid) -> Result<bool, StoreError> {
        let query = query(&self.transport().discard).bind(consumer).bind(key);
        let done = self
            .alone("discarding a dead letter", async |connection| query.execute(connection).await);
        Ok(done.await?.rows_affected() == 1)
    }

    async fn skip(
        &self,
        consumer: &str,
        message_id: MessageId,
        reason: &str,
    ) -> Result<bool, StoreError> {
        let query =
            query(&self.transport().skip).bind(consumer).bind(message_id.as_uuid()).bind(reason);
        self.alone("skipping a message", async |connection| {
            query.fetch_one(connection).await?.try_get(0)
        })
        .await
    }
}

const READING: &str = "reading dead letters";

fn stored(consumer: &str, row: &PgRow) -> Result<StoredDeadLetter, StoreError> {
    let read = || -> Result<_, sqlx::Error> {
        let key: Uuid = row.try_get("letter_key")?;
        let message_id: Option<Uuid> = row.try_get("message_id")?;
        let metadata: String = row.try_get("metadata")?;
        let payload: Vec<u8> = row.try_get("payload")?;
        let reason: String = row.try_get("reason")?;
        let error: String = row.try_get("error")?;
        let attempts: i32 = row.try_get("attempts")?;
        let times: (OffsetDateTime, OffsetDateTime) =
            (row.try_get("first_at")?, row.try_get("last_at")?);
        Ok((key, message_id, metadata, payload, (reason, error, attempts), times))
    };
    let (key, message_id, metadata, payload, (reason, error, attempts), (first_at, last_at)) =
        read().map_err(|error| store_error(READING, error))?;
    let unknown =
        || StoreError::new(Fault::Other, "a dead letter's reason is not known to this release");
    let letter = DeadLetter {
        key,
        consumer: consumer.to_owned(),
        message_id: message_id.and_then(|id| MessageId::from_uuid(id).ok()),
        envelope: DeadLetter::restore(&metadata, payload)?,
        reason: DeadLetterReason::parse(&reason).ok_or_else(unknown)?,
        error,
        attempts: attempts.unsigned_abs(),
    };
    Ok(StoredDeadLetter::new(letter, first_at, last_at))
}
