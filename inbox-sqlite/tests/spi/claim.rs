use std::time::Duration;

use inbox::{Fingerprint, InboxStore, Slot, UnitOfWork};
use inbox_sqlite::SqliteInboxStore;

use crate::fixture::*;

#[tokio::test]
async fn a_committed_claim_is_a_duplicate_ever_after() {
    let fixture = Fixture::own().await;
    let mut unit = fresh(&fixture.store, message(1)).await;
    run(&mut unit, EFFECT).await.unwrap();
    unit.commit(&mut Slot::passing()).await.unwrap();

    let recorded = duplicate(&fixture.store, message(1)).await;
    assert_eq!(recorded.event_type, "orders.order-placed.v1");
    assert_eq!((recorded.source, recorded.fingerprint), (None, None));
    assert!(recorded.age < Duration::from_secs(600), "{:?}", recorded.age);
    assert_eq!((fixture.rows().await, fixture.effects().await), (1, 1));
}

#[tokio::test]
async fn a_rolled_back_claim_leaves_nothing_and_can_be_claimed_again() {
    let fixture = Fixture::own().await;
    let mut unit = fresh(&fixture.store, message(1)).await;
    run(&mut unit, EFFECT).await.unwrap();
    unit.rollback(&mut Slot::passing()).await.unwrap();
    assert_eq!((fixture.rows().await, fixture.effects().await), (0, 0));

    fresh(&fixture.store, message(1)).await.commit(&mut Slot::passing()).await.unwrap();
    assert_eq!(fixture.rows().await, 1);
}

#[tokio::test]
async fn a_dropped_unit_is_rolled_back() {
    let fixture = Fixture::application().await;
    let mut unit = fresh(&fixture.store, message(1)).await;
    run(&mut unit, EFFECT).await.unwrap();
    drop(unit);
    fresh(&fixture.store, message(1)).await.rollback(&mut Slot::passing()).await.unwrap();
    assert_eq!((fixture.rows().await, fixture.effects().await), (0, 0));
}

#[tokio::test]
async fn k1_two_consumers_claim_one_id_each_for_itself() {
    let fixture = Fixture::own().await;
    fresh(&fixture.store, message(1)).await.commit(&mut Slot::passing()).await.unwrap();
    assert!(fixture.store.find("billing-service", message(1)).await.unwrap().is_none());
    assert!(fixture.store.find(CONSUMER, message(1)).await.unwrap().is_some());
}

#[tokio::test]
async fn a_duplicate_holds_no_lock_and_no_turn() {
    let fixture = Fixture::application().await;
    fresh(&fixture.store, message(1)).await.commit(&mut Slot::passing()).await.unwrap();
    duplicate(&fixture.store, message(1)).await;
    sqlx::raw_sql("BEGIN IMMEDIATE; ROLLBACK").execute(&fixture.beside().await).await.unwrap();
    fresh(&fixture.store, message(2)).await.commit(&mut Slot::passing()).await.unwrap();
}

#[tokio::test]
async fn source_and_fingerprint_are_kept_where_asked_for() {
    let fixture = Fixture::own().await;
    let store = fixture.store.clone().keep_source().keep_fingerprint();
    fresh(&store, message(1)).await.commit(&mut Slot::passing()).await.unwrap();
    let recorded = duplicate(&store, message(1)).await;
    assert_eq!(recorded.source.as_deref(), Some("shop"));
    assert_eq!(recorded.fingerprint, Some(Fingerprint::of(b"{}")));
}

#[tokio::test]
async fn the_age_of_a_row_is_told_by_the_databases_clock() {
    let fixture = Fixture::own().await;
    fresh(&fixture.store, message(1)).await.commit(&mut Slot::passing()).await.unwrap();
    sqlx::raw_sql("UPDATE inbox_messages SET processed_at = processed_at - 86400000")
        .execute(fixture.store.pool())
        .await
        .unwrap();
    let recorded = fixture.store.find(CONSUMER, message(1)).await.unwrap().unwrap();
    let (day, slack) = (Duration::from_secs(86_400), Duration::from_secs(600));
    assert!(recorded.age >= day && recorded.age < day + slack, "{:?}", recorded.age);
}

#[tokio::test]
async fn a_row_from_the_future_has_no_age() {
    let fixture = Fixture::own().await;
    fresh(&fixture.store, message(1)).await.commit(&mut Slot::passing()).await.unwrap();
    sqlx::raw_sql("UPDATE inbox_messages SET processed_at = processed_at + 86400000")
        .execute(fixture.store.pool())
        .await
        .unwrap();
    assert_eq!(duplicate(&fixture.store, message(1)).await.age, Duration::ZERO);
}

#[tokio::test]
async fn a_database_in_memory_is_shared_by_its_connections_and_outlives_them() {
    let store = SqliteInboxStore::in_memory().await.unwrap();
    create_effects(store.pool()).await;
    fresh(&store, message(1)).await.commit(&mut Slot::passing()).await.unwrap();
    let mut connections = Vec::new();
    for _ in 0..3 {
        let mut connection = store.pool().acquire().await.unwrap();
        let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM inbox_messages")
            .fetch_one(&mut *connection)
            .await
            .unwrap();
        assert_eq!(rows, 1);
        connections.push(connection);
    }
    drop(connections);
    while store.pool().size() > 0 {
        store.pool().acquire().await.unwrap().close().await.unwrap();
    }
    drop(fresh(&store, message(2)).await);
    assert_eq!(duplicate(&store, message(1)).await.event_type, "orders.order-placed.v1");

    let another = SqliteInboxStore::in_memory().await.unwrap();
    assert!(another.find(CONSUMER, message(1)).await.unwrap().is_none());
}

#[tokio::test]
async fn two_stores_on_one_file_see_each_others_messages() {
    let fixture = Fixture::own().await;
    let other = SqliteInboxStore::open(fixture.path()).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 1..=40 {
        let store = if number % 2 == 0 { fixture.store.clone() } else { other.clone() };
        tasks.spawn(async move {
            let mut unit = match claim(&store, message(number / 4 + 1)).await.unwrap() {
                inbox::Claimed::Fresh(unit) => unit,
                _ => return,
            };
            run(&mut unit, EFFECT).await.unwrap();
            unit.commit(&mut Slot::passing()).await.unwrap();
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    assert_eq!((fixture.rows().await, fixture.effects().await), (11, 11));
}
