//! The database of one test, and the proof that everything in it happened exactly once.

use std::fmt;

use sqlx::postgres::PgPoolOptions;
use sqlx::{PgPool, Row as _};
use test_servers::postgres::{Server, TestDatabase};
use uuid::Uuid;

use crate::handlers::{CONSUMERS, HANDLERS};
use crate::{Result, form};

/// Effects have no key: a doubled one must be seen, not refused. `stream` is what was published, with
/// its redeliveries; `acks` is how far each consumer has come in it.
const SCHEMA: &str = "
CREATE TABLE effects (consumer text, handler text, message_id uuid);
CREATE TABLE stream (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, message_id uuid, nap float8);
CREATE TABLE acks (consumer text PRIMARY KEY, position bigint NOT NULL);
";

/// What a consumer has of the stream.
const PROOF: &str = "
WITH published AS (SELECT DISTINCT message_id FROM stream)
SELECT (SELECT count(*) FROM published) AS messages,
       (SELECT count(*) FROM inbox.messages WHERE consumer = $1) AS rows,
       (SELECT count(*) FROM inbox.messages JOIN published USING (message_id)
        WHERE consumer = $1) AS published_rows,
       (SELECT count(*) FROM effects WHERE consumer = $1 AND handler = $2) AS effects,
       (SELECT count(DISTINCT message_id) FROM effects JOIN published USING (message_id)
        WHERE consumer = $1 AND handler = $2) AS published_effects";

/// A message of the stream.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Its id.
    pub id: Uuid,
    /// How long each handler lets the database sleep, in seconds; see [`Placed`](crate::Placed).
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
}

impl Default for Message {
    fn default() -> Self {
        Self::new()
    }
}

/// The database of one test.
pub struct Stage {
    /// Straight to the server.
    pub pool: PgPool,
    url: String,
    name: String,
    /// Dropped with the value.
    database: Option<TestDatabase>,
}

impl Stage {
    /// On the server of this run.
    ///
    /// # Errors
    /// What the server refuses.
    pub async fn new() -> Result<Self> {
        Self::on(&Server::shared().await?).await
    }

    /// On a server of the test's own.
    ///
    /// # Errors
    /// What the server refuses.
    pub async fn on(server: &Server) -> Result<Self> {
        let database = server.create_database().await?;
        let options = PgPoolOptions::new().max_connections(4);
        let pool = options.connect(database.direct_url()).await?;
        sqlx::raw_sql(SCHEMA).execute(&pool).await?;
        inbox_postgres::PgInboxStore::new(pool.clone()).migrate().await?;
        let url = if form::through_a_pooler() { database.url() } else { database.direct_url() };
        let (url, name) = (url.to_owned(), database.name().to_owned());
        Ok(Self { pool, url, name, database: Some(database) })
    }

    /// What a standby has of it.
    ///
    /// # Errors
    /// Where the standby does not let us in.
    pub async fn at_standby(&self, standby: &Server) -> Result<Self> {
        let url = standby.direct_url().strip_suffix("postgres").ok_or("not a cluster's URL")?;
        let (url, name) = (format!("{url}{}", self.name), self.name.clone());
        let pool = PgPoolOptions::new().max_connections(4).connect(&url).await?;
        Ok(Self { pool, url, name, database: None })
    }

    /// Where consumers connect: through PgBouncer if the run does.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Straight to the server.
    pub fn direct_url(&self) -> &str {
        self.database.as_ref().map_or(self.url(), TestDatabase::direct_url)
    }

    /// Appends deliveries to the stream.
    ///
    /// # Errors
    /// What the database refuses.
    pub async fn publish(&self, deliveries: &[Message]) -> Result<()> {
        let ids: Vec<Uuid> = deliveries.iter().map(|message| message.id).collect();
        let naps: Vec<f64> = deliveries.iter().map(|message| message.nap).collect();
        let sql =
            "INSERT INTO stream (message_id, nap) SELECT * FROM unnest($1::uuid[], $2::float8[])";
        sqlx::query(sql).bind(ids).bind(naps).execute(&self.pool).await?;
        Ok(())
    }

    /// What each handler of some consumers has of the stream.
    ///
    /// # Errors
    /// What the database refuses.
    pub async fn proof(&self, consumers: &[&'static str]) -> Result<Proof> {
        let mut lines = Vec::new();
        for consumer in consumers {
            for handler in HANDLERS {
                let row =
                    sqlx::query(PROOF).bind(consumer).bind(handler).fetch_one(&self.pool).await?;
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
    pub async fn proof_of_all(&self) -> Result<Proof> {
        self.proof(&CONSUMERS).await
    }
}

/// For each handler: distinct messages, its consumer's rows (all, and those of published messages), its
/// effects (all, and published messages that have one).
#[derive(Clone, Debug)]
pub struct Proof(Vec<(&'static str, &'static str, [i64; 5])>);

impl Proof {
    /// Whether every message took effect exactly once, and nothing else did.
    pub fn is_exact(&self) -> bool {
        let exact = |counts: &[i64; 5]| counts.iter().all(|count| *count == counts[0]);
        !self.0.is_empty() && self.0.iter().all(|(_, _, counts)| exact(counts))
    }

    /// The distinct messages.
    pub fn messages(&self) -> i64 {
        self.0.first().map_or(0, |(_, _, counts)| counts[0])
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (consumer, handler, [messages, rows, published_rows, effects, published_effects]) in
            &self.0
        {
            writeln!(
                f,
                "{consumer}/{handler}: {messages} messages, {rows} rows ({published_rows} of them), \
                 {effects} effects ({published_effects} of them)"
            )?;
        }
        Ok(())
    }
}
