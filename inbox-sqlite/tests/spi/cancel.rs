use inbox::Slot;
use inbox::UnitOfWork;
use sqlx::Connection;

use crate::fixture::*;

/// One message whose future is dropped at its `polls`th await, sometimes a little later, so that
/// the connection's thread has done more or less of what was sent.
async fn dropped_somewhere(fixture: &Fixture, number: u128, polls: usize) -> Option<()> {
    let whole = async {
        let mut unit = fresh(&fixture.store, message(number)).await;
        sqlx::query("INSERT INTO effects VALUES (?1)")
            .bind(number.to_string())
            .execute(unit.connection())
            .await
            .unwrap();
        let mut savepoint = unit.connection().begin().await.unwrap();
        sqlx::raw_sql("DELETE FROM effects WHERE what = 'none'")
            .execute(&mut *savepoint)
            .await
            .unwrap();
        savepoint.commit().await.unwrap();
        match number % 3 {
            0 => unit.rollback(&mut Slot::passing()).await.unwrap(),
            _ => unit.commit(&mut Slot::passing()).await.unwrap(),
        }
    };
    let mut whole = Box::pin(whole);
    let done = drop_at(polls, &mut whole).await;
    for _ in 0..fastrand::usize(..4) {
        tokio::task::yield_now().await;
    }
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a5_dropped_at_any_await_a_pool_of_one_works_on_and_keeps_both_or_neither() {
    works_on_and_keeps_both_or_neither(Fixture::application().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a5_so_it_does_where_commits_are_guarded() {
    let mut fixture = Fixture::application().await;
    fixture.store = fixture.store.guard_commits();
    works_on_and_keeps_both_or_neither(fixture).await;
}

async fn works_on_and_keeps_both_or_neither(fixture: Fixture) {
    let (mut dropped, mut done) = (0, 0);
    for round in 1..=300 {
        let polls = fastrand::usize(1..24);
        match dropped_somewhere(&fixture, round, polls).await {
            Some(()) => done += 1,
            None => dropped += 1,
        }
        if round % 10 == 0 {
            let connection = fixture.store.pool().acquire().await.unwrap();
            assert!(!connection.is_in_transaction());
        }
    }
    assert!(dropped > 30 && done > 30, "{dropped} dropped, {done} done: not all awaits were met");

    fresh(&fixture.store, message(1000)).await.commit(&mut Slot::passing()).await.unwrap();
    let odd = "SELECT count(*) FROM effects LEFT JOIN inbox_messages
               ON message_id = unhex(printf('%032x', CAST(what AS INTEGER)))
               WHERE message_id IS NULL";
    let beside = fixture.beside().await;
    assert_eq!(count(&beside, odd).await, 0, "effects without their row");
    let (rows, effects) = (fixture.rows().await, fixture.effects().await);
    assert_eq!(rows, effects + 1, "rows without their effect");
    sqlx::raw_sql("BEGIN IMMEDIATE; ROLLBACK").execute(&beside).await.unwrap();
}

#[tokio::test]
async fn a_claim_dropped_while_it_waits_gives_its_place_in_the_queue_up() {
    let fixture = Fixture::application().await;
    let unit = fresh(&fixture.store, message(1)).await;
    assert!(drop_at(1, claim(&fixture.store, message(2))).await.is_none());
    unit.commit(&mut Slot::passing()).await.unwrap();
    fresh(&fixture.store, message(2)).await.commit(&mut Slot::passing()).await.unwrap();
    assert_eq!(fixture.rows().await, 2);
}
