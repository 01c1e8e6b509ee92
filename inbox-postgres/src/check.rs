//! `check()`: proof that the schema is there and that no setting endangers the promise.

use inbox::{Slot, StoreError};
use sqlx::{PgConnection, PgPool, Row};

use crate::error::{has_code, sqlstate, store_error};
use crate::lease::Lease;
use crate::schema::{self, SchemaName};
use crate::sql;

/// Answers everything that is wrong, each with its remedy.
pub(crate) async fn check(
    pool: &PgPool,
    schema: &SchemaName,
    fsync_off_is_accepted: bool,
) -> Result<Vec<String>, StoreError> {
    let failed = |error| store_error("checking the inbox's schema and settings", error);
    // In a transaction, so that a pooler sends the two halves of each unnamed statement to one server.
    let connection = pool.acquire().await.map_err(failed)?;
    let mut lease = Lease::open(connection, sql::BEGIN).await?;
    let connection = lease.connection();
    let mut problems = settings(connection, fsync_off_is_accepted).await.map_err(failed)?;
    match schema::version(connection, schema).await {
        Ok(version) => match version_problem(schema, version) {
            Some(problem) => problems.push(problem),
            None => problems.extend(grants(connection, schema).await.map_err(failed)?),
        },
        Err(error) if has_code(&error, sqlstate::INSUFFICIENT_PRIVILEGE) => {
            problems.push(format!(
                "the role may not read `{schema}.migrations`: {}",
                grant(schema, "SELECT ON ALL TABLES IN SCHEMA")
            ));
        }
        Err(error) => return Err(failed(error)),
    }
    lease.end(sql::ROLLBACK_AND_CHAIN, &mut Slot::passing()).await?;
    Ok(problems)
}

fn version_problem(schema: &SchemaName, version: Option<i32>) -> Option<String> {
    let ours = schema::VERSION;
    match version {
        None => Some(format!(
            "the schema `{schema}` is not there, or this role may not see it: call \
             `PgInboxStore::migrate()`, or apply what `migrations_sql()` prints"
        )),
        Some(found) if found < ours => Some(format!(
            "the schema `{schema}` is at version {found} and this library needs {ours}: call \
             `PgInboxStore::migrate()`, or apply what `migrations_sql()` prints"
        )),
        Some(found) if found > ours => Some(format!(
            "the schema `{schema}` is at version {found}, newer than this library's {ours}: upgrade \
             the library"
        )),
        Some(_) => None,
    }
}

fn grant(schema: &SchemaName, what: &str) -> String {
    format!("`GRANT USAGE ON SCHEMA {schema} TO the_role; GRANT {what} {schema} TO the_role`")
}

async fn settings(
    connection: &mut PgConnection,
    fsync_off_is_accepted: bool,
) -> Result<Vec<String>, sqlx::Error> {
    let row = sqlx::query(
        "SELECT current_setting('fsync')::bool AS fsync,
                current_setting('full_page_writes')::bool AS full_page_writes,
                current_setting('default_transaction_read_only')::bool AS read_only,
                pg_is_in_recovery() AS standby,
                current_setting('server_version_num')::int AS version,
                current_setting('session_replication_role') AS replication_role",
    )
    .persistent(false)
    .fetch_one(connection)
    .await?;
    let mut problems = Vec::new();
    let mut refuse_if = |wrong: bool, problem: &str| {
        if wrong {
            problems.push(problem.to_owned());
        }
    };
    let unsafe_disk = !row.try_get::<bool, _>("fsync")? || !row.try_get("full_page_writes")?;
    refuse_if(
        unsafe_disk && !fsync_off_is_accepted,
        "the server runs with `fsync` or `full_page_writes` off, so a power failure loses what was \
         answered `Ok`: turn them on, or accept it for a test database with \
         `PgInboxStore::accept_fsync_off()`",
    );
    refuse_if(
        row.try_get("standby")?,
        "the server is a standby and takes no writes: connect to the primary \
         (`target_session_attrs=read-write`)",
    );
    refuse_if(
        row.try_get("read_only")?,
        "`default_transaction_read_only` is on for this role or database: turn it off",
    );
    refuse_if(
        row.try_get::<i32, _>("version")? < 130_000,
        "the server is older than PostgreSQL 13, the oldest this library is written for",
    );
    refuse_if(
        row.try_get::<String, _>("replication_role")? == "replica",
        "`session_replication_role` is `replica`, which switches off the trigger that refuses a \
         handler's COMMIT: set it to `origin`",
    );
    Ok(problems)
}

/// What must hold of the table `$1` and of what belongs to it.
const OF_THE_TABLE: &str = "
    SELECT has_table_privilege(messages.oid, 'SELECT') AND has_table_privilege(messages.oid, 'INSERT')
               AS granted,
           messages.relpersistence = 'p' AS permanent,
           EXISTS (SELECT FROM pg_trigger WHERE tgrelid = messages.oid
                   AND tgname = 'refuse_foreign_commit' AND tgenabled IN ('O', 'A')) AS guarded,
           (SELECT count(*) = 2 FROM pg_class WHERE relnamespace = messages.relnamespace
                   AND relname IN ('attempts', 'dead_letters')
                   AND has_table_privilege(pg_class.oid, 'SELECT')
                   AND has_table_privilege(pg_class.oid, 'INSERT')
                   AND has_table_privilege(pg_class.oid, 'UPDATE')
                   AND has_table_privilege(pg_class.oid, 'DELETE')) AS kept,
           (SELECT count(*) = 6 FROM pg_proc WHERE pronamespace = messages.relnamespace
                   AND proname IN ('lock_key', 'recorded', 'claim', 'prove', 'finish', 'skip')
                   AND has_function_privilege(pg_proc.oid, 'EXECUTE')) AS callable
    FROM pg_class AS messages WHERE messages.oid = to_regclass($1)";

async fn grants(
    connection: &mut PgConnection,
    schema: &SchemaName,
) -> Result<Vec<String>, sqlx::Error> {
    let table = format!("{schema}.messages");
    let row = sqlx::query(OF_THE_TABLE)
        .bind(format!("{}.messages", schema.quoted()))
        .persistent(false)
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else {
        return Ok(vec![format!(
            "the table `{table}` is gone though its migration is recorded: restore it, or drop the \
             schema and call `migrate()`"
        )]);
    };
    let mut told = Vec::new();
    for (column, problem) in table_problems(schema, &table) {
        if !row.try_get::<bool, _>(column)? {
            told.push(problem);
        }
    }
    Ok(told)
}

/// What is told where a column of [`OF_THE_TABLE`] is false.
fn table_problems(schema: &SchemaName, table: &str) -> [(&'static str, String); 5] {
    [
        (
            "granted",
            format!(
                "the role may not read and write `{table}`: {}",
                grant(schema, "SELECT, INSERT ON ALL TABLES IN SCHEMA")
            ),
        ),
        (
            "kept",
            format!(
                "the role may not read and write `{schema}.attempts` and `{schema}.dead_letters`, or \
                 they are gone: `GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.attempts, \
                 {schema}.dead_letters TO the_role`"
            ),
        ),
        (
            "permanent",
            format!(
                "`{table}` is unlogged or temporary, so a crash empties it: `ALTER TABLE {table} SET LOGGED`"
            ),
        ),
        (
            "guarded",
            format!(
                "the trigger `refuse_foreign_commit` on `{table}` is missing or disabled, so a handler's \
                 COMMIT would go through: `ALTER TABLE {table} ENABLE TRIGGER refuse_foreign_commit`"
            ),
        ),
        (
            "callable",
            format!(
                "a function of the schema `{schema}` is gone, or the role may not call it: {}",
                grant(schema, "EXECUTE ON ALL ROUTINES IN SCHEMA")
            ),
        ),
    ]
}
