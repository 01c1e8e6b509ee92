//! The inbox's own schema: its name, its numbered migrations, and how they are applied.

use std::fmt;

use inbox::{Fault, StoreError};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool};

use crate::error::store_error;

/// The migrations in their order. Forward only: a released one is never changed.
const MIGRATIONS: &[(i32, &str, &str)] = &[
    (1, "messages", include_str!("../migrations/0001_messages.sql")),
    (2, "transports", include_str!("../migrations/0002_transports.sql")),
];

/// The version a store of this crate works with.
pub(crate) const VERSION: i32 = MIGRATIONS.len() as i32;

/// The name of the schema in which the inbox keeps its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SchemaName(String);

impl SchemaName {
    /// # Errors
    /// In words, for [`StoreError`].
    pub(crate) fn new(name: &str) -> Result<Self, StoreError> {
        let refused = |why| {
            let text = format!("the schema name {name:?} is refused: {why}");
            Err(StoreError::new(Fault::Other, text))
        };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || name.len() > 63 {
            return refused("a name has 1 to 63 characters");
        }
        if !name.chars().all(plain) || name.starts_with(|c: char| c.is_ascii_digit()) {
            return refused("write it in a–z, 0–9 and _, beginning with a letter");
        }
        if name.starts_with("pg_") {
            return refused("PostgreSQL keeps names that begin with pg_ for itself");
        }
        Ok(Self(name.to_owned()))
    }

    pub(crate) fn quoted(&self) -> String {
        format!("\"{}\"", self.0)
    }
}

impl Default for SchemaName {
    fn default() -> Self {
        Self("inbox".to_owned())
    }
}

impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn create_schema(schema: &SchemaName) -> String {
    let schema = schema.quoted();
    format!(
        "CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE IF NOT EXISTS {schema}.migrations (
    version    integer     PRIMARY KEY,
    name       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);"
    )
}

fn record(schema: &SchemaName, version: i32, name: &str) -> String {
    let schema = schema.quoted();
    format!("INSERT INTO {schema}.migrations (version, name) VALUES ({version}, '{name}');")
}

/// All migrations as one script, for those whose databases are changed by other tools.
pub(crate) fn script(schema: &SchemaName) -> String {
    let mut script = format!("BEGIN;\n\n{}\n", create_schema(schema));
    for (version, name, text) in MIGRATIONS {
        let text = text.replace("{schema}", &schema.quoted());
        let record = record(schema, *version, name);
        script.push_str(&format!("\n-- {version:04} {name}\n{text}\n{record}\n"));
    }
    script.push_str("\nCOMMIT;\n");
    script
}

/// Applies what is missing, in one transaction. Instances that start at once wait for each other.
pub(crate) async fn migrate(pool: &PgPool, schema: &SchemaName) -> Result<(), StoreError> {
    let failed = |error| store_error("migrating the inbox's schema", error);
    let mut connection = pool.acquire().await.map_err(failed)?;
    // Own the connection: a migration that is dropped half-way must not go back to the pool open.
    connection.close_on_drop();
    // Whatever the session's level: a snapshot taken before the wait for the lock would not see what
    // the instance before us has applied.
    let read_committed = "BEGIN ISOLATION LEVEL READ COMMITTED";
    let mut tx = connection.begin_with(read_committed).await.map_err(failed)?;
    apply(&mut tx, schema).await.map_err(failed)?;
    tx.commit().await.map_err(failed)
}

async fn apply(connection: &mut PgConnection, schema: &SchemaName) -> Result<(), sqlx::Error> {
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('inbox migrations ' || $1, 0))")
        .bind(&schema.0)
        .persistent(false)
        .execute(&mut *connection)
        .await?;
    // Nothing is created where it is there: a role that may not create may still start.
    if version(connection, schema).await?.is_none() {
        run(connection, create_schema(schema)).await?;
    }
    let applied = version(connection, schema).await?.unwrap_or(0);
    for (number, name, text) in MIGRATIONS.iter().filter(|(number, ..)| *number > applied) {
        run(connection, text.replace("{schema}", &schema.quoted())).await?;
        run(connection, record(schema, *number, name)).await?;
    }
    Ok(())
}

async fn run(connection: &mut PgConnection, text: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(text)).execute(connection).await.map(|_| ())
}

/// The newest migration that was applied; `None` where the schema is absent.
pub(crate) async fn version(
    connection: &mut PgConnection,
    schema: &SchemaName,
) -> Result<Option<i32>, sqlx::Error> {
    let there: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
        .bind(format!("{}.migrations", schema.quoted()))
        .persistent(false)
        .fetch_one(&mut *connection)
        .await?;
    if !there {
        return Ok(None);
    }
    let newest = format!("SELECT coalesce(max(version), 0) FROM {}.migrations", schema.quoted());
    let newest = sqlx::query_scalar(AssertSqlSafe(newest)).persistent(false);
    newest.fetch_one(connection).await.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_name_is_a_plain_identifier() {
        for good in ["inbox", "orders_inbox_2"] {
            assert_eq!(SchemaName::new(good).unwrap().quoted(), format!("\"{good}\""));
        }
        let long = "x".repeat(64);
        for bad in ["", "Inbox", "in box", "in\"box", "2inbox", "pg_inbox", "inböx", &long] {
            assert!(SchemaName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn migrations_are_numbered_without_gaps() {
        for (i, (version, name, text)) in MIGRATIONS.iter().enumerate() {
            assert_eq!(*version as usize, i + 1);
            assert!(text.contains("{schema}"), "{name}");
        }
    }
}
