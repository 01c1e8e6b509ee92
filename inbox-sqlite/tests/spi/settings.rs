use inbox::InboxStore;
use inbox_sqlite::SqliteInboxStore;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode as Journal, SqlitePool, SqliteSynchronous as Sync,
};

use crate::fixture::*;

async fn problems(options: SqliteConnectOptions) -> Vec<String> {
    let store = SqliteInboxStore::new(SqlitePool::connect_with(options).await.unwrap());
    store.migrate().await.unwrap();
    store.check().await.unwrap()
}

#[tokio::test]
async fn settings_that_endanger_the_promise_are_refused_with_their_remedy() {
    for (journal, synchronous, remedies) in [
        (Journal::Wal, Sync::Full, &[][..]),
        (Journal::Wal, Sync::Extra, &[]),
        (Journal::Truncate, Sync::Full, &[]),
        (Journal::Persist, Sync::Full, &[]),
        (Journal::Delete, Sync::Extra, &[]),
        (Journal::Wal, Sync::Normal, &["SqliteSynchronous::Full"]),
        (Journal::Wal, Sync::Off, &["SqliteSynchronous::Full"]),
        (Journal::Delete, Sync::Full, &["SqliteSynchronous::Extra"]),
        (Journal::Memory, Sync::Full, &["SqliteJournalMode::Wal"]),
        (Journal::Off, Sync::Off, &["SqliteJournalMode::Wal", "SqliteSynchronous::Full"]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let options = options(&directory).journal_mode(journal).synchronous(synchronous);
        let problems = problems(options).await;
        assert_eq!(problems.len(), remedies.len(), "{journal:?} {synchronous:?}: {problems:?}");
        for (problem, remedy) in problems.iter().zip(remedies) {
            assert!(problem.contains(remedy), "{problem}");
        }
    }
}

#[tokio::test]
async fn an_application_pool_in_memory_is_refused_with_the_remedy() {
    let problems = problems("sqlite::memory:".parse().unwrap()).await;
    assert!(problems.len() == 1 && problems[0].contains("in_memory()"), "{problems:?}");
}

#[tokio::test]
async fn all_problems_are_told_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(&directory).journal_mode(Journal::Off).synchronous(Sync::Off);
    let store = SqliteInboxStore::new(SqlitePool::connect_with(options).await.unwrap());
    assert_eq!(store.check().await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_file_the_store_opens_is_durable() {
    let fixture = Fixture::own().await;
    let pool = fixture.store.pool();
    let mut connections = Vec::new();
    for _ in 0..3 {
        let mut connection = pool.acquire().await.unwrap();
        for (pragma, expected) in
            [("PRAGMA synchronous", 2), ("PRAGMA foreign_keys", 1), ("PRAGMA busy_timeout", 5000)]
        {
            let value: i64 = sqlx::query_scalar(pragma).fetch_one(&mut *connection).await.unwrap();
            assert_eq!(value, expected, "{pragma}");
        }
        let journal: String =
            sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut *connection).await.unwrap();
        assert_eq!(journal, "wal");
        connections.push(connection);
    }
    assert_eq!(fixture.store.check().await.unwrap(), Vec::<String>::new());
}
