//! Round trips, counted at the wire.

use inbox::{HandlerRegistration, InboxBuilder, Outcome};
use inbox_postgres::PgInboxStore;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use test_servers::proxy::Proxy;

use crate::bed::{Bed, CONSUMER, Run, inbox_with, message, until};

const WRITE: &str = "INSERT INTO effects VALUES ('a')";

/// A pool of one through a proxy that counts, without the ping before each acquire.
pub(crate) async fn counted(bed: &Bed) -> (Proxy, PgPool) {
    let proxy = Proxy::in_front_of(bed.database.direct_url()).unwrap();
    let url = proxy.url_for(bed.database.direct_url()).unwrap();
    let options = PgPoolOptions::new().max_connections(1).test_before_acquire(false);
    (proxy, options.connect(&url).await.unwrap())
}

/// An inbox that reaches the server without a pooler, whatever the run goes through.
pub(crate) fn direct(bed: &Bed, pool: PgPool) -> InboxBuilder<PgInboxStore> {
    inbox_with(PgInboxStore::new(pool).accept_fsync_off(), bed.signals.clone())
}

/// The statements of a whole message, its connection back in the pool.
pub(crate) async fn trips_of(proxy: &Proxy, pool: &PgPool, work: impl AsyncFnOnce()) -> usize {
    until("the connection is back", || async { pool.num_idle() == 1 }).await;
    proxy.reset();
    work().await;
    until("the connection is back", || async { pool.num_idle() == 1 }).await;
    proxy.round_trips()
}

/// What everyone writes by hand, and proves nothing.
async fn by_hand(pool: &PgPool) {
    let mut tx = pool.begin().await.unwrap();
    let id = uuid::Uuid::now_v7();
    sqlx::query("INSERT INTO hand VALUES ($1) ON CONFLICT DO NOTHING")
        .bind(id)
        .execute(&mut *tx)
        .await
        .unwrap();
    sqlx::raw_sql(WRITE).execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn a_dispatch_makes_no_more_round_trips_than_hand_written_sqlx() {
    let bed = Bed::new().await;
    bed.run("CREATE TABLE hand (id uuid PRIMARY KEY)").await;
    let (proxy, pool) = counted(&bed).await;
    let inbox = direct(&bed, pool.clone()).build().await.unwrap();
    // The first use of a statement's text costs a trip of its own.
    by_hand(&pool).await;
    let _ = inbox.dispatch(&message(WRITE)).await.unwrap();

    let hand = trips_of(&proxy, &pool, async || by_hand(&pool).await).await;
    let ours = trips_of(&proxy, &pool, async || {
        assert_eq!(inbox.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
    })
    .await;
    // BEGIN, claim, the handler's, proof and COMMIT in one; and the pool's ping at the release.
    assert_eq!((hand, ours), (5, 5), "{}", proxy.trace());

    let duplicate = message(WRITE);
    let _ = inbox.dispatch(&duplicate).await.unwrap();
    let skipped = trips_of(&proxy, &pool, async || {
        assert_eq!(inbox.dispatch(&duplicate).await.unwrap(), Outcome::SkippedDuplicate);
    })
    .await;
    assert_eq!(skipped, 4, "{}", proxy.trace());
}

#[tokio::test]
async fn a_worker_makes_three_round_trips_a_message() {
    let bed = Bed::new().await;
    let (proxy, pool) = counted(&bed).await;
    let inbox = direct(&bed, pool).build().await.unwrap();
    let mut worker = inbox.consumer(CONSUMER).unwrap().worker();
    let _ = worker.dispatch(&message(WRITE)).await.unwrap();
    proxy.reset();
    for _ in 0..10 {
        assert_eq!(worker.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
    }
    assert_eq!(proxy.round_trips(), 30, "{}", proxy.trace());
}

/// Each handler after the first costs one: the proof that the one before it has left the transaction whole.
#[tokio::test]
async fn a_handler_after_the_first_costs_one_round_trip_besides_its_own() {
    let bed = Bed::new().await;
    let (proxy, pool) = counted(&bed).await;
    let again = |name| HandlerRegistration::new::<Run>(CONSUMER, name);
    let inbox = direct(&bed, pool).register(again("second")).register(again("third"));
    let inbox = inbox.build().await.unwrap();
    let mut worker = inbox.consumer(CONSUMER).unwrap().worker();
    let _ = worker.dispatch(&message(WRITE)).await.unwrap();
    proxy.reset();
    assert_eq!(worker.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
    // Claim, three handlers with two proofs between them, proof and COMMIT in one.
    assert_eq!(proxy.round_trips(), 7, "{}", proxy.trace());
}
