//! The store's own tables: creating them, and proving that they and the database's settings are
//! what the promise needs.

use inbox::{Fault, StoreError};
use sqlx::SqliteConnection;

use crate::fault::{failed, sqlite_code};
use crate::sql;
use crate::writer::Writer;

/// The store's migrations as SQL, in order, for applications that run all SQL with a tool of their
/// own. Each records itself in `inbox_migrations`, so
/// [`migrate`](crate::SqliteInboxStore::migrate) finds it done.
pub const MIGRATIONS: &[&str] = sql::MIGRATIONS;

const REMEDY: &str =
    "call `store.migrate().await` before `build()`, or run `inbox_sqlite::MIGRATIONS` yourself";

/// The number of applied migrations; 0 where there are no tables.
pub(crate) async fn version(connection: &mut SqliteConnection) -> Result<usize, StoreError> {
    let read = async {
        let tables: i64 =
            sqlx::query_scalar(sql::HAS_MIGRATIONS).fetch_one(&mut *connection).await?;
        if tables == 0 {
            return Ok(None);
        }
        sqlx::query_scalar::<_, Option<i64>>(sql::SCHEMA_VERSION).fetch_one(connection).await
    };
    let version =
        read.await.map_err(|error| failed("could not read the schema's version", error))?;
    Ok(version.and_then(|version| usize::try_from(version).ok()).unwrap_or(0))
}

/// Whether nothing is left to apply. A schema from a newer release is an error.
pub(crate) fn is_current(version: usize) -> Result<bool, StoreError> {
    match newer(version) {
        Some(problem) => Err(StoreError::new(Fault::Other, problem)),
        None => Ok(version == MIGRATIONS.len()),
    }
}

/// Applies what is missing, in the writer's one transaction: of ten processes that start at once,
/// one applies and nine find it done.
pub(crate) async fn migrate(mut writer: Writer) -> Result<(), StoreError> {
    let applied = version(writer.connection()).await?;
    if !is_current(applied)? {
        for (file, migration) in MIGRATIONS.iter().enumerate().skip(applied) {
            sqlx::raw_sql(*migration).execute(writer.connection()).await.map_err(|error| {
                failed(&format!("could not apply migration {}", file + 1), error)
            })?;
        }
    }
    writer.commit().await.map_err(|error| match error {
        inbox::CommitError::Refused(error) | inbox::CommitError::Unknown(error) => error,
        _ => StoreError::new(Fault::Other, "the migration's transaction was ended"),
    })
}

/// Everything that is wrong with the tables.
pub(crate) async fn problems(connection: &mut SqliteConnection) -> Result<Vec<String>, StoreError> {
    let version = version(connection).await?;
    if let Some(problem) = newer(version) {
        return Ok(vec![problem]);
    }
    if version < MIGRATIONS.len() {
        let current = MIGRATIONS.len();
        return Ok(vec![format!(
            "the inbox's tables are missing in this database or old (version {version}, this \
             release needs {current}): {REMEDY}"
        )]);
    }
    match sqlx::raw_sql(sql::EXPLAIN_CLAIM).execute(connection).await {
        Ok(_) => Ok(Vec::new()),
        Err(error) if sqlite_code(&error).is_some() => {
            let error = failed("the table `inbox_messages` was changed", error);
            Ok(vec![format!("{error}: restore it as `inbox_sqlite::MIGRATIONS` creates it")])
        }
        Err(error) => Err(failed("could not look at the table `inbox_messages`", error)),
    }
}

/// Everything that is wrong with the settings of the application's own connection.
pub(crate) async fn unsafe_settings(
    connection: &mut SqliteConnection,
) -> Result<Vec<String>, StoreError> {
    let read = async {
        let file: Option<String> =
            sqlx::query_scalar(sql::FILE).fetch_one(&mut *connection).await?;
        let journal: String =
            sqlx::query_scalar(sql::JOURNAL_MODE).fetch_one(&mut *connection).await?;
        let synchronous: i64 = sqlx::query_scalar(sql::SYNCHRONOUS).fetch_one(connection).await?;
        Ok((file.unwrap_or_default(), journal, synchronous))
    };
    let (file, journal, synchronous) =
        read.await.map_err(|error| failed("could not read the database's settings", error))?;
    if file.is_empty() {
        let problem = "the database is in memory or temporary, and a dispatch that is dropped closes \
                       its connection, the database with it: use `SqliteInboxStore::in_memory()` and \
                       its `pool()`";
        return Ok(vec![problem.to_owned()]);
    }
    Ok([journal_problem(&journal), synchronous_problem(&journal, synchronous)]
        .into_iter()
        .flatten()
        .collect())
}

fn journal_problem(journal: &str) -> Option<String> {
    matches!(journal, "off" | "memory").then(|| {
        format!(
            "`journal_mode` is {}, so a crash leaves half a transaction: open the pool with \
             `.journal_mode(SqliteJournalMode::Wal)`",
            journal.to_uppercase()
        )
    })
}

fn synchronous_problem(journal: &str, synchronous: i64) -> Option<String> {
    match (synchronous, journal) {
        (0 | 1, _) => Some(format!(
            "`synchronous` is {}, so a power failure loses commits that were answered: open the \
             pool with `.synchronous(SqliteSynchronous::Full)`",
            if synchronous == 0 { "OFF" } else { "NORMAL" }
        )),
        // The commit is the deletion of the journal, and FULL does not flush the directory.
        (2, "delete") => Some(
            "`journal_mode` is DELETE, where `synchronous` FULL does not keep the last commit \
             through a power failure: open the pool with `.journal_mode(SqliteJournalMode::Wal)`, \
             or with `.synchronous(SqliteSynchronous::Extra)`"
                .to_owned(),
        ),
        _ => None,
    }
}

fn newer(version: usize) -> Option<String> {
    let current = MIGRATIONS.len();
    (version > current).then(|| {
        format!(
            "the inbox's tables have version {version} and this release knows up to {current}: \
             update the crate `transactional-inbox-sqlite`; `migrate()` goes forward only"
        )
    })
}
