//! What was published and what came of it, kept in the same database as the inbox.

use sqlx::any::{AnyPoolOptions, install_default_drivers};
use sqlx::{AnyPool, AssertSqlSafe, Row as _};
use uuid::Uuid;

use crate::Result;
use crate::handlers::{CONSUMERS, HANDLERS};
use crate::proof::Proof;

/// Effects have no key: a doubled one must be seen, not refused. `stream` is what was published, with
/// its redeliveries; `acks` is how far each consumer has come in it. Ids are 32 digits.
const SCHEMA: [&str; 3] = [
    "CREATE TABLE effects (consumer text, handler text, message_id text)",
    "CREATE TABLE stream (position bigint PRIMARY KEY, message_id text, nap double precision)",
    "CREATE TABLE acks (consumer text PRIMARY KEY, position bigint NOT NULL)",
];

const PUBLISH: &str = "
INSERT INTO stream (position, message_id, nap)
SELECT coalesce(max(position), 0) + 1, $1, $2 FROM stream";

/// What a consumer has of the stream. `known` are the inbox's rows.
const PROOF: &str = "
published AS (SELECT DISTINCT message_id FROM stream)
SELECT (SELECT count(*) FROM published) AS messages,
       (SELECT count(*) FROM known WHERE consumer = $1) AS all_rows,
       (SELECT count(*) FROM known JOIN published ON published.message_id = known.message_id
        WHERE consumer = $1) AS published_rows,
       (SELECT count(*) FROM effects WHERE consumer = $1 AND handler = $2) AS all_effects,
       (SELECT count(DISTINCT effects.message_id) FROM effects
        JOIN published ON published.message_id = effects.message_id
        WHERE consumer = $1 AND handler = $2) AS published_effects";

const DURABLE: &str = "
SELECT (SELECT count(*) FROM effects WHERE message_id = $1 AND handler = $2),
       (SELECT count(*) FROM effects WHERE message_id = $1 AND handler = $3),
       (SELECT count(*) FROM known WHERE message_id = $1)";

const NEXT: &str = "
SELECT position, message_id, nap FROM stream
WHERE position > coalesce((SELECT position FROM acks WHERE consumer = $1), 0)
ORDER BY position LIMIT $2";

/// Where several follow the stream, the one that is behind does not put it back.
const ACKNOWLEDGE: &str = "
INSERT INTO acks (consumer, position) VALUES ($1, $2)
ON CONFLICT (consumer) DO UPDATE SET position = excluded.position
WHERE excluded.position > acks.position";

/// A message of the stream.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Its id.
    pub id: Uuid,
    /// How long each handler takes, in seconds; see [`Placed`](crate::Placed).
    pub nap: f64,
}

impl Message {
    /// A new one that keeps nobody waiting.
    pub fn new() -> Self {
        Self { id: Uuid::now_v7(), nap: 0.0 }
    }

    /// A new one whose last handler fails.
    pub fn failing() -> Self {
        Self { nap: -1.0, ..Self::new() }
    }

    /// Its id as the books write it.
    pub(crate) fn key(self) -> String {
        self.id.simple().to_string()
    }
}

impl Default for Message {
    fn default() -> Self {
        Self::new()
    }
}

/// A kind of database, for the one thing that the books have to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PostgreSQL.
    Postgres,
    /// SQLite.
    Sqlite,
}

impl Kind {
    /// The inbox's rows, as the head of a query.
    fn known(self) -> &'static str {
        match self {
            Self::Postgres => {
                "WITH known AS (SELECT consumer, translate(message_id::text, '-', '') AS message_id \
                 FROM inbox.messages)"
            }
            Self::Sqlite => {
                "WITH known AS (SELECT consumer, lower(hex(message_id)) AS message_id \
                 FROM inbox_messages)"
            }
        }
    }
}

/// The stream, the effects, and the proof that everything happened exactly once.
#[derive(Clone, Debug)]
pub struct Books {
    pool: AnyPool,
    kind: Kind,
}

impl Books {
    /// Those of a database that has them.
    ///
    /// # Errors
    /// What the database refuses.
    pub async fn open(kind: Kind, url: &str) -> Result<Self> {
        install_default_drivers();
        let pool = AnyPoolOptions::new().max_connections(2).connect(url).await?;
        Ok(Self { pool, kind })
    }

    /// The same after making their tables.
    ///
    /// # Errors
    /// What the database refuses.
    pub async fn create(kind: Kind, url: &str) -> Result<Self> {
        let books = Self::open(kind, url).await?;
        for table in SCHEMA {
            sqlx::query(table).execute(&books.pool).await?;
        }
        Ok(books)
    }

    /// Closes every connection.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Appends deliveries to the stream.
    ///
    /// # Errors
    /// What the database refuses.
    pub async fn publish(&self, deliveries: &[Message]) -> Result<()> {
        let mut whole = self.pool.begin().await?;
        for delivery in deliveries {
            let query = sqlx::query(PUBLISH).bind(delivery.key()).bind(delivery.nap);
            query.execute(&mut *whole).await?;
        }
        whole.commit().await?;
        Ok(())
    }

    /// The next deliveries for a consumer, with their positions.
    ///
    /// # Errors
    /// What the database refuses.
    pub async fn next(&self, consumer: &str, most: i64) -> Result<Vec<(i64, Message)>> {
        let query = sqlx::query_as(NEXT).bind(consumer.to_owned()).bind(most);
        let rows: Vec<(i64, String, f64)> = query.fetch_all(&self.pool).await?;
        let message = |(position, id, nap): (i64, String, f64)| {
            Ok((position, Message { id: Uuid::try_parse(&id)?, nap }))
        };
        rows.into_iter().map(message).collect()
    }

    /// A consumer will not be given what stands before this position again.
    ///
    /// # Errors
    /// What the database refuses.
    pub async fn acknowledge(&self, consumer: &str, position: i64) -> Result<()> {
        let query = sqlx::query(ACKNOWLEDGE).bind(consumer.to_owned()).bind(position);
        query.execute(&self.pool).await?;
        Ok(())
    }

    /// How far the consumers have come, taken together, and how far there is to go.
    ///
    /// # Errors
    /// What the database refuses.
    pub async fn progress(&self) -> Result<(i64, i64)> {
        let sql = "SELECT (SELECT CAST(coalesce(sum(position), 0) AS bigint) FROM acks), \
                          (SELECT coalesce(max(position), 0) FROM stream)";
        let (come, all): (i64, i64) = sqlx::query_as(sql).fetch_one(&self.pool).await?;
        Ok((come, CONSUMERS.len() as i64 * all - come))
    }

    /// A message's effects, of each handler, and its dedup rows.
    ///
    /// # Errors
    /// What the database refuses.
    pub async fn durable(&self, one: Message) -> Result<[i64; 3]> {
        let sql = AssertSqlSafe(format!("{} {DURABLE}", self.kind.known()));
        let query = sqlx::query_as(sql).bind(one.key()).bind(HANDLERS[0]).bind(HANDLERS[1]);
        let (first, second, rows) = query.fetch_one(&self.pool).await?;
        Ok([first, second, rows])
    }

    /// What each handler of some consumers has of the stream.
    ///
    /// # Errors
    /// What the database refuses.
    pub async fn proof_of(&self, consumers: &[&'static str]) -> Result<Proof> {
        let mut lines = Vec::new();
        for consumer in consumers {
            for handler in HANDLERS {
                let sql = AssertSqlSafe(format!("{}, {PROOF}", self.kind.known()));
                let query = sqlx::query(sql).bind(*consumer).bind(handler);
                let row = query.fetch_one(&self.pool).await?;
                let mut counts = [0; 5];
                for (index, count) in counts.iter_mut().enumerate() {
                    *count = row.try_get(index)?;
                }
                lines.push((*consumer, handler, counts));
            }
        }
        Ok(Proof(lines))
    }

    /// The same for both consumers.
    ///
    /// # Errors
    /// What the database refuses.
    pub async fn proof(&self) -> Result<Proof> {
        self.proof_of(&CONSUMERS).await
    }
}
