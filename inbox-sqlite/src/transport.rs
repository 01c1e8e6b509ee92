//! Attempts and dead letters: statements in short transactions of their own.

use inbox::{
    Attempts, CommitError, DeadLetter, DeadLetterReason, DeadLetters, Fault, MessageId, StoreError,
    StoredDeadLetter,
};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Row as _, Sqlite, SqliteConnection};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::fault::failed;
use crate::store::SqliteInboxStore;
use crate::{sql, transport_sql};

type Query<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

impl SqliteInboxStore {
    /// Runs something in a transaction of its own, as the database's one writer.
    async fn alone<T>(
        &self,
        doing: &'static str,
        run: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        let mut writer = self.writer().await?;
        writer.begin(sql::BEGIN).await.map_err(|error| failed(doing, error))?;
        match run(writer.connection()).await {
            Ok(answer) => {
                writer.commit().await.map_err(|error| match error {
                    CommitError::Refused(error) | CommitError::Unknown(error) => error,
                    _ => StoreError::new(Fault::Other, "the transaction was ended"),
                })?;
                Ok(answer)
            }
            Err(error) => {
                writer.rollback().await;
                Err(failed(doing, error))
            }
        }
    }
}

fn of_a_message(text: &'static str, consumer: &str, id: &Uuid) -> Query<'static> {
    sqlx::query(text).bind(consumer.to_owned()).bind(id.as_bytes().to_vec())
}

impl Attempts for SqliteInboxStore {
    async fn begin(&self, consumer: &'static str, id: MessageId) -> Result<u32, StoreError> {
        let query = of_a_message(transport_sql::BEGIN_ATTEMPT, consumer, &id.as_uuid());
        self.alone("could not count an attempt", async |connection| {
            query.fetch_one(connection).await?.try_get(0)
        })
        .await
    }

    async fn take_back(&self, consumer: &'static str, id: MessageId) -> Result<(), StoreError> {
        let query = of_a_message(transport_sql::TAKE_BACK, consumer, &id.as_uuid());
        self.alone("could not take an attempt back", async |connection| {
            query.execute(connection).await.map(drop)
        })
        .await
    }

    async fn forget(&self, consumer: &'static str, id: MessageId) -> Result<(), StoreError> {
        let query = of_a_message(transport_sql::FORGET, consumer, &id.as_uuid());
        self.alone("could not forget attempts", async |connection| {
            query.execute(connection).await.map(drop)
        })
        .await
    }

    async fn begun(&self, consumer: &'static str, id: MessageId) -> Result<u32, StoreError> {
        let query = of_a_message(transport_sql::BEGUN, consumer, &id.as_uuid());
        let row = query.fetch_optional(&mut *self.connection().await?).await;
        let begun = row.and_then(|row| row.map(|row| row.try_get(0)).transpose());
        Ok(begun.map_err(|error| failed("could not read attempts", error))?.unwrap_or(0))
    }
}

impl DeadLetters for SqliteInboxStore {
    async fn put_away(&self, letter: &DeadLetter) -> Result<(), StoreError> {
        let query = of_a_message(transport_sql::PUT_AWAY, &letter.consumer, &letter.key)
            .bind(letter.message_id.map(|id| id.as_bytes().to_vec()))
            .bind(letter.metadata())
            .bind(letter.envelope.payload().to_vec())
            .bind(letter.reason.as_str())
            .bind(letter.error.clone())
            .bind(letter.attempts);
        self.alone("could not put a dead letter away", async |connection| {
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
        let query = sqlx::query(transport_sql::LIST)
            .bind(consumer)
            .bind(after.map(|stored| milliseconds(stored.first_at)))
            .bind(after.map(|stored| stored.letter.key.as_bytes().to_vec()))
            .bind(limit);
        let rows = query.fetch_all(&mut *self.connection().await?).await.map_err(reading)?;
        rows.iter().map(|row| stored(consumer, row)).collect()
    }

    async fn dead_letter(
        &self,
        consumer: &str,
        key: Uuid,
    ) -> Result<Option<StoredDeadLetter>, StoreError> {
        let query = of_a_message(transport_sql::ONE, consumer, &key);
        let row = query.fetch_optional(&mut *self.connection().await?).await.map_err(reading)?;
        row.map(|row| stored(consumer, &row)).transpose()
    }

    async fn discard(&self, consumer: &str, key: Uuid) -> Result<bool, StoreError> {
        let query = of_a_message(transport_sql::DISCARD, consumer, &key);
        let done = self.alone("could not discard a dead letter", async |connection| {
            query.execute(connection).await
        });
        Ok(done.await?.rows_affected() == 1)
    }

    async fn skip(
        &self,
        consumer: &str,
        message_id: MessageId,
        reason: &str,
    ) -> Result<bool, StoreError> {
        let query = of_a_message(transport_sql::SKIP, consumer, &message_id.as_uuid())
            .bind(reason.to_owned());
        let done = self
            .alone("could not skip a message", async |connection| query.execute(connection).await);
        Ok(done.await?.rows_affected() == 1)
    }
}

fn reading(error: sqlx::Error) -> StoreError {
    failed("could not read dead letters", error)
}

fn milliseconds(at: OffsetDateTime) -> i64 {
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}

/// A row that was written by this store; anything else was put there by others.
fn stored(consumer: &str, row: &SqliteRow) -> Result<StoredDeadLetter, StoreError> {
    let unknown =
        |_| StoreError::new(Fault::Other, "a dead letter is not as this release writes it");
    let uuid = |column| -> Result<Option<Uuid>, StoreError> {
        let bytes: Option<Vec<u8>> = row.try_get(column).map_err(reading)?;
        bytes.map(|bytes| Uuid::from_slice(&bytes).map_err(|_| unknown(()))).transpose()
    };
    let at = |column| -> Result<OffsetDateTime, StoreError> {
        let at: i64 = row.try_get(column).map_err(reading)?;
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(at) * 1_000_000)
            .map_err(|_| unknown(()))
    };
    let text = |column| -> Result<String, StoreError> { row.try_get(column).map_err(reading) };
    let payload = row.try_get("payload").map_err(reading)?;
    let letter = DeadLetter {
        key: uuid("letter_key")?.ok_or_else(|| unknown(()))?,
        consumer: consumer.to_owned(),
        message_id: uuid("message_id")?.and_then(|id| MessageId::from_uuid(id).ok()),
        envelope: DeadLetter::restore(&text("metadata")?, payload)?,
        reason: DeadLetterReason::parse(&text("reason")?).ok_or_else(|| unknown(()))?,
        error: text("error")?,
        attempts: row.try_get("attempts").map_err(reading)?,
    };
    Ok(StoredDeadLetter::new(letter, at("first_at")?, at("last_at")?))
}
