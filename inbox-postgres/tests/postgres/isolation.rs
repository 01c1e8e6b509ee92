//! Right under every isolation level, whichever the pool's default is.

use inbox::Outcome;

use crate::bed::{Bed, message, through_a_pooler};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

async fn bed_at(level: &'static str) -> Bed {
    Bed::with(
        |pool| pool.max_connections(8),
        |session| session.options([("default_transaction_isolation", level)]),
    )
    .await
}

#[tokio::test]
async fn c4_racing_twins_start_one_handler_at_every_isolation_level() {
    if through_a_pooler() {
        return through_a_pooler_the_level_is_set_on_the_database().await;
    }
    for level in LEVELS {
        race(&bed_at(level).await, level).await;
    }
}

/// PgBouncer drops `options`; the database's own default reaches every session.
async fn through_a_pooler_the_level_is_set_on_the_database() {
    for level in LEVELS {
        let bed = Bed::new().await;
        let set = format!(
            "ALTER DATABASE {} SET default_transaction_isolation = '{level}'",
            bed.database.name()
        );
        bed.run(&set).await;
        race(&bed, level).await;
    }
}

async fn race(bed: &Bed, level: &str) {
    let inbox = bed.inbox().await;
    for round in 0..25 {
        let envelope = message("INSERT INTO effects VALUES ('a')");
        let racers: Vec<_> = (0..4)
            .map(|_| {
                let (inbox, envelope) = (inbox.clone(), envelope.clone());
                tokio::spawn(async move { inbox.dispatch(&envelope).await })
            })
            .collect();
        let mut processed = 0;
        for racer in racers {
            match racer.await.unwrap() {
                Ok(Outcome::Processed) => processed += 1,
                Ok(other) => assert_eq!(other, Outcome::SkippedDuplicate),
                Err(error) => panic!("{level}, round {round}: {error:?}"),
            }
        }
        assert_eq!(processed, 1, "{level}");
    }
    assert_eq!((bed.effects().await, bed.rows().await), (25, 25), "{level}");
}

#[tokio::test]
async fn c4_a_serialization_failure_in_a_handler_is_retried_inside_with_everything_fresh() {
    if through_a_pooler() {
        return; // the pooler drops the session's isolation; the race above covers it there
    }
    // Reads, waits, writes: what changed in between is a 40001 inside the handler's own error.
    let bed = bed_at("repeatable read").await;
    bed.run("CREATE TABLE counter (n bigint); INSERT INTO counter VALUES (0)").await;
    let inbox = bed.inbox().await;
    let slow = message("SELECT n FROM counter; wait; UPDATE counter SET n = n + 1");
    let first = tokio::spawn({
        let inbox = inbox.clone();
        async move { inbox.dispatch(&slow).await }
    });
    bed.signals.started.notified().await;
    bed.run("UPDATE counter SET n = n + 10").await; // behind the handler's snapshot
    bed.signals.go.notify_one();
    bed.signals.started.notified().await; // the retry
    bed.signals.go.notify_one();
    assert_eq!(first.await.unwrap().unwrap(), Outcome::Processed);
    assert_eq!(bed.number("SELECT n FROM counter").await, 11);
    assert_eq!(bed.signals.starts(), 2);
}

#[tokio::test]
async fn a_deadlock_between_two_handlers_is_retried_inside() {
    let bed = Bed::new().await;
    bed.run(
        "CREATE TABLE pair (id int PRIMARY KEY, n int); INSERT INTO pair VALUES (1, 0), (2, 0)",
    )
    .await;
    let inbox = bed.inbox().await;
    let scripts = [
        "UPDATE pair SET n = n + 1 WHERE id = 1; wait; UPDATE pair SET n = n + 1 WHERE id = 2",
        "UPDATE pair SET n = n + 1 WHERE id = 2; wait; UPDATE pair SET n = n + 1 WHERE id = 1",
    ];
    let dispatches = scripts.map(|script| {
        let inbox = inbox.clone();
        tokio::spawn(async move { inbox.dispatch(&message(script)).await })
    });
    for _ in 0..2 {
        bed.signals.started.notified().await;
    }
    // Both hold their first row as soon as both statements ran; a further signal serves the retry.
    crate::bed::until("both rows locked", || async {
        bed.outside(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
             AND state = 'idle in transaction' AND query LIKE 'UPDATE pair%'",
        )
        .await
            == 2
    })
    .await;
    let go = bed.signals.go.clone();
    let signalling = tokio::spawn(async move {
        loop {
            go.notify_one();
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    for dispatch in dispatches {
        assert_eq!(dispatch.await.unwrap().unwrap(), Outcome::Processed);
    }
    signalling.abort();
    assert_eq!(bed.number("SELECT sum(n) FROM pair").await, 4);
    assert!(bed.signals.starts() >= 3, "one of the two was run again");
}
