//! Batches that write the same rows in different orders.

use std::time::Duration;

use inbox::{Consumer, Outcome};
use inbox_postgres::PgInboxStore;
use test_servers::postgres::{Cluster, Options};
use tokio::task::JoinSet;

use crate::bed::{Bed, CONSUMER, Signals, inbox_on, message, until};

const HOT_ROWS: &str = "CREATE TABLE counters (id integer PRIMARY KEY, n bigint NOT NULL DEFAULT 0); \
                        INSERT INTO counters SELECT generate_series(0, 9)";

fn add_to(row: usize) -> String {
    format!("UPDATE counters SET n = n + 1 WHERE id = {row}")
}

/// As two processes are: two inboxes, each with a pool of its own.
async fn two_consumers(bed: &Bed, parallel: bool) -> Vec<Consumer<PgInboxStore>> {
    let mut consumers = Vec::new();
    for _ in 0..2 {
        let options = sqlx::postgres::PgPoolOptions::new().max_connections(4);
        let pool = options.connect(bed.database.url()).await.unwrap();
        let builder = inbox_on(pool, bed.signals.clone());
        let builder = if parallel { builder.parallel_batches_may_deadlock() } else { builder };
        consumers.push(builder.build().await.unwrap().consumer(CONSUMER).unwrap());
    }
    consumers
}

/// Sixteen batches of forty messages over ten rows, in random orders, from two processes.
async fn storm(bed: &Bed, consumers: &[Consumer<PgInboxStore>]) {
    let mut running = JoinSet::new();
    for n in 0..16_u64 {
        let consumer = consumers[n as usize % 2].clone();
        let row = move |i: u64| ((i * 7 + n * 13 + i * i * (n + 3)) % 10) as usize;
        let envelopes: Vec<_> = (0..40).map(|i| message(&add_to(row(i)))).collect();
        running.spawn(async move { consumer.dispatch_batch(&envelopes).await });
    }
    for answers in running.join_all().await {
        for answer in answers {
            assert_eq!(answer.unwrap(), Outcome::Processed);
        }
    }
    assert_eq!(bed.number("SELECT sum(n)::bigint FROM counters").await, 16 * 40);
    assert_eq!(bed.rows().await, 16 * 40);
}

#[tokio::test]
async fn batches_of_two_processes_on_the_same_rows_do_not_deadlock() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let bed = Bed::on(cluster.server(), |pool| pool, |session| session).await;
    bed.run(HOT_ROWS).await;
    storm(&bed, &two_consumers(&bed, false).await).await;
    let log = bed.database.log().unwrap();
    assert!(!log.contains("deadlock detected"), "{log}");
}

#[tokio::test]
async fn parallel_batches_that_deadlock_lose_and_double_nothing() {
    let cluster =
        Cluster::start(Options::default().setting("deadlock_timeout", "50ms")).await.unwrap();
    let bed = Bed::on(cluster.server(), |pool| pool, |session| session).await;
    bed.run(HOT_ROWS).await;
    // Both hold one row and want the other's: this deadlock is certain.
    let consumers = two_consumers(&bed, true).await;
    let crossing = |first: usize, second: usize| {
        [message(&format!("{}; wait", add_to(first))), message(&add_to(second))]
    };
    let (there, back) = (crossing(0, 1), crossing(1, 0));
    let let_go = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity \
                       WHERE state = 'idle in transaction' AND query LIKE 'UPDATE counters%'";
        let both_wait = || async { bed.outside(waiting).await == 2 };
        until("both hold their row", both_wait).await;
        loop {
            // Each of the two, and the message of the one that is run again.
            bed.signals.go.notify_one();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let both = async {
        tokio::join!(consumers[0].dispatch_batch(&there), consumers[1].dispatch_batch(&back))
    };
    let (one, other) = tokio::select! {
        both = both => both,
        () = let_go => unreachable!(),
    };
    for answer in one.into_iter().chain(other) {
        assert_eq!(answer.unwrap(), Outcome::Processed);
    }
    assert_eq!(bed.number("SELECT sum(n)::bigint FROM counters").await, 4);
    assert!(bed.database.log().unwrap().contains("deadlock detected"));
    bed.run("UPDATE counters SET n = 0; DELETE FROM inbox.messages").await;
    storm(&bed, &consumers).await;
}

#[tokio::test]
async fn a_lane_is_a_consumers_and_a_schemas_own() {
    let bed = Bed::new().await;
    let elsewhere = PgInboxStore::in_schema(bed.pool.clone(), "elsewhere").unwrap();
    let elsewhere = elsewhere.accept_fsync_off();
    let elsewhere = match crate::bed::through_a_pooler() {
        true => elsewhere.without_named_statements(),
        false => elsewhere,
    };
    elsewhere.migrate().await.unwrap();
    let there = crate::bed::inbox_with(elsewhere, Signals::default()).build().await.unwrap();
    let there = there.consumer(CONSUMER).unwrap();
    let here = bed.inbox().await.consumer(CONSUMER).unwrap();
    let slow = [message("wait"), message("SELECT 1")];
    let first = tokio::spawn(async move { here.dispatch_batch(&slow).await });
    bed.signals.started.notified().await;
    let mut worker = there.worker();
    let others = [message("SELECT 1"), message("SELECT 1")];
    for answer in worker.dispatch_batch(&others).await {
        assert_eq!(answer.unwrap(), Outcome::Processed);
    }
    let one_by_one = "SELECT count(DISTINCT xmin::text) FROM elsewhere.messages";
    assert_eq!(bed.number(one_by_one).await, 1, "they were dispatched one by one");
    bed.signals.go.notify_one();
    for answer in first.await.unwrap() {
        assert_eq!(answer.unwrap(), Outcome::Processed);
    }
}
