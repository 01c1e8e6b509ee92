use std::time::Duration;

use inbox::InboxStore;
use inbox_sqlite::{MIGRATIONS, SqliteInboxStore};
use sqlx::sqlite::SqlitePool;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::fixture::*;

async fn pool(directory: &TempDir) -> SqlitePool {
    SqlitePool::connect_with(options(directory)).await.unwrap()
}

async fn tables(pool: &SqlitePool) -> Vec<(String, String)> {
    sqlx::query_as("SELECT name, sql FROM sqlite_schema ORDER BY name")
        .fetch_all(pool)
        .await
        .unwrap()
}

#[tokio::test]
async fn s4_the_applications_own_migrations_are_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let pool = pool(&directory).await;
    sqlx::raw_sql(
        "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, checksum BLOB NOT NULL);
         INSERT INTO _sqlx_migrations VALUES (1, x'00');
         CREATE TABLE migrations (version INTEGER PRIMARY KEY);
         CREATE TABLE messages (id INTEGER PRIMARY KEY)",
    )
    .execute(&pool)
    .await
    .unwrap();
    let before = tables(&pool).await;
    SqliteInboxStore::new(pool.clone()).migrate().await.unwrap();
    let (ours, theirs): (Vec<_>, Vec<_>) =
        tables(&pool).await.into_iter().partition(|(name, _)| name.contains("inbox_"));
    assert_eq!(theirs, before);
    assert_eq!(ours.len(), 6);
    assert_eq!(count(&pool, "SELECT count(*) FROM _sqlx_migrations").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_starts_at_once_create_the_tables_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inbox.db");
    let mut starts = JoinSet::new();
    for _ in 0..10 {
        let path = path.clone();
        starts.spawn(async move { SqliteInboxStore::open(path).await.unwrap() });
    }
    let stores = starts.join_all().await;
    for store in &stores {
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    }
    assert_eq!(count(stores[0].pool(), "SELECT count(*) FROM inbox_migrations").await, 2);
}

#[tokio::test]
async fn the_tables_are_created_after_a_writer_that_was_there_before() {
    let directory = tempfile::tempdir().unwrap();
    let pool = pool(&directory).await;
    let store = SqliteInboxStore::new(pool.clone());
    let mut writer = pool.acquire().await.unwrap();
    let write = "BEGIN IMMEDIATE; CREATE TABLE theirs (id INTEGER PRIMARY KEY)";
    sqlx::raw_sql(write).execute(&mut *writer).await.unwrap();
    let end = async {
        // Long enough to be asked for the lock. Where it is not, nothing is shown, and nothing fails.
        tokio::time::sleep(Duration::from_millis(100)).await;
        sqlx::raw_sql("COMMIT").execute(&mut *writer).await.unwrap();
    };
    let (migrated, ()) = tokio::join!(store.migrate(), end);
    migrated.unwrap();
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn the_tables_may_be_created_by_another_tool() {
    let directory = tempfile::tempdir().unwrap();
    let pool = pool(&directory).await;
    for migration in MIGRATIONS.iter().copied() {
        sqlx::raw_sql(migration).execute(&pool).await.unwrap();
    }
    let store = SqliteInboxStore::new(pool);
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    store.migrate().await.unwrap();
    commit(fresh(&store, message(1)).await).await.unwrap();
}

#[tokio::test]
async fn c6_missing_tables_are_told_with_their_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteInboxStore::new(pool(&directory).await);
    let problems = store.check().await.unwrap();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("version 0") && problems[0].contains("migrate()"));
    store.migrate().await.unwrap();
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn tables_of_a_newer_release_are_refused_everywhere() {
    let fixture = Fixture::own().await;
    sqlx::raw_sql("INSERT INTO inbox_migrations (version, name) VALUES (99, 'future')")
        .execute(fixture.store.pool())
        .await
        .unwrap();
    let problems = fixture.store.check().await.unwrap();
    assert!(problems.len() == 1 && problems[0].contains("version 99"), "{problems:?}");
    assert!(problems[0].contains("update the crate"));
    assert!(fixture.store.migrate().await.unwrap_err().to_string().contains("version 99"));
    assert!(SqliteInboxStore::open(fixture.path()).await.is_err());
}

#[tokio::test]
async fn a_table_that_lost_its_key_is_refused() {
    let fixture = Fixture::own().await;
    sqlx::raw_sql(
        "DROP TABLE inbox_messages;
         CREATE TABLE inbox_messages (consumer TEXT, message_id BLOB, event_type TEXT,
                                      processed_at INTEGER, source TEXT, fingerprint BLOB)",
    )
    .execute(fixture.store.pool())
    .await
    .unwrap();
    let problems = fixture.store.check().await.unwrap();
    assert!(problems.len() == 1 && problems[0].contains("was changed"), "{problems:?}");
}

#[tokio::test]
async fn a_path_that_cannot_be_opened_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("missing/inbox.db");
    let error = SqliteInboxStore::open(&path).await.unwrap_err();
    assert!(error.to_string().contains("missing/inbox.db"), "{error}");
    assert_eq!(error.code(), Some("14"));
    for nameless in ["", ":memory:"] {
        let error = SqliteInboxStore::open(nameless).await.unwrap_err();
        assert!(error.to_string().contains("in_memory()"), "{error}");
    }
}
