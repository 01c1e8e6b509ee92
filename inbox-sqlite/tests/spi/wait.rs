use std::time::Duration;

use inbox::{Fault, Slot, UnitOfWork};
use inbox_sqlite::SqliteInboxStore;
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};

use crate::fixture::*;

#[tokio::test]
async fn waiting_longer_than_the_busy_timeout_for_another_message_is_busy() {
    let fixture = Fixture::own().await;
    let store = fixture.store.clone().with_busy_timeout(Duration::from_millis(20));
    let unit = fresh(&store, message(1)).await;
    assert_eq!(claim(&store, message(2)).await.unwrap_err().fault(), Fault::Busy);
    unit.commit(&mut Slot::passing()).await.unwrap();
    fresh(&store, message(2)).await.commit(&mut Slot::passing()).await.unwrap();
}

#[tokio::test]
async fn waiting_longer_than_the_busy_timeout_for_another_process_is_busy() {
    let fixture = Fixture::own().await;
    let impatient = options(&fixture.directory).busy_timeout(Duration::from_millis(20));
    let store = SqliteInboxStore::new(SqlitePool::connect_with(impatient).await.unwrap());
    let unit = fresh(&fixture.store, message(1)).await;
    let error = claim(&store, message(2)).await.unwrap_err();
    assert_eq!((error.fault(), error.code()), (Fault::Busy, Some("5")));
    unit.commit(&mut Slot::passing()).await.unwrap();
    fresh(&store, message(2)).await.commit(&mut Slot::passing()).await.unwrap();
}

#[tokio::test]
async fn a_pool_without_a_free_connection_is_busy() {
    let fixture = Fixture::own().await;
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(Duration::from_millis(20))
        .connect_with(options(&fixture.directory))
        .await
        .unwrap();
    let store = SqliteInboxStore::new(pool.clone());
    let taken = pool.acquire().await.unwrap();
    assert_eq!(claim(&store, message(1)).await.unwrap_err().fault(), Fault::Busy);
    drop(taken);
    fresh(&store, message(1)).await.commit(&mut Slot::passing()).await.unwrap();
}

#[tokio::test]
async fn c7_a_hundred_messages_share_a_pool_of_one() {
    let fixture = Fixture::application().await;
    let store = fixture.store.clone().with_busy_timeout(Duration::from_secs(60));
    let mut tasks = tokio::task::JoinSet::new();
    for number in 1..=100 {
        let store = store.clone();
        tasks.spawn(async move {
            let mut unit = fresh(&store, message(number)).await;
            run(&mut unit, EFFECT).await.unwrap();
            unit.commit(&mut Slot::passing()).await.unwrap();
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    assert_eq!((fixture.rows().await, fixture.effects().await), (100, 100));
}

#[tokio::test]
async fn c7_a_waiting_message_holds_no_connection() {
    let fixture = Fixture::own().await;
    let pool = SqlitePoolOptions::new()
        .max_connections(2)
        .connect_with(options(&fixture.directory))
        .await
        .unwrap();
    let store = SqliteInboxStore::new(pool.clone());
    let unit = fresh(&store, message(1)).await;
    let mut waiting = Box::pin(claim(&store, message(2)));
    assert!(drop_at(1, &mut waiting).await.is_none());

    let free = pool.acquire().await.unwrap();
    unit.commit(&mut Slot::passing()).await.unwrap();
    assert!(matches!(waiting.await.unwrap(), inbox::Claimed::Fresh(_)));
    drop(free);
}

#[tokio::test]
async fn a_twin_waits_and_is_then_a_duplicate() {
    let fixture = Fixture::application().await;
    let unit = fresh(&fixture.store, message(1)).await;
    let mut twin = Box::pin(claim(&fixture.store, message(1)));
    assert!(drop_at(1, &mut twin).await.is_none());
    unit.commit(&mut Slot::passing()).await.unwrap();
    assert!(matches!(twin.await.unwrap(), inbox::Claimed::Duplicate(_)));
}
