//! What a batch costs at the wire and in the server, and what it leaves of the session.

use inbox::{DispatchErrorKind, Envelope, IntegrationEvent as _, Outcome};
use inbox_postgres::PgInboxStore;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection as _, PgConnection};
use test_servers::postgres::{Cluster, Options};
use uuid::Uuid;

use crate::bed::{Bed, CONSUMER, Script, inbox_with, message, through_a_pooler, until};
use crate::trips::{counted, direct, trips_of};

const WRITE: &str = "INSERT INTO effects VALUES ('a')";

fn good(count: usize) -> Vec<Envelope> {
    (0..count).map(|_| message(WRITE)).collect()
}

#[tokio::test]
async fn a_batch_costs_three_round_trips_besides_its_handlers() {
    let bed = Bed::new().await;
    let (proxy, pool) = counted(&bed).await;
    let inbox = direct(&bed, pool.clone()).build().await.unwrap();
    let consumer = inbox.consumer(CONSUMER).unwrap();
    let _ = consumer.dispatch_batch(&good(2)).await;
    let envelopes = good(100);
    let fresh = trips_of(&proxy, &pool, async || {
        for answer in consumer.dispatch_batch(&envelopes).await {
            assert_eq!(answer.unwrap(), Outcome::Processed);
        }
    })
    .await;
    // BEGIN, the claims, the handlers', proof and COMMIT in one; and the pool's ping at the release.
    assert_eq!(fresh, 104, "{}", proxy.trace());
    let known = trips_of(&proxy, &pool, async || {
        for answer in consumer.dispatch_batch(&envelopes).await {
            assert_eq!(answer.unwrap(), Outcome::SkippedDuplicate);
        }
    })
    .await;
    assert_eq!(known, 4, "{}", proxy.trace());
    let mut worker = consumer.worker();
    let _ = worker.dispatch_batch(&good(2)).await;
    proxy.reset();
    let _ = worker.dispatch_batch(&good(100)).await;
    let _ = worker.dispatch_batch(&good(100)).await;
    assert_eq!(proxy.round_trips(), 206, "{}", proxy.trace());
}

#[tokio::test]
async fn a_poison_of_100_costs_its_run_once_more_and_a_few_marks() {
    let bed = Bed::new().await;
    let (proxy, pool) = counted(&bed).await;
    let inbox = direct(&bed, pool.clone()).build().await.unwrap();
    let consumer = inbox.consumer(CONSUMER).unwrap();
    let mut poisoned = good(100);
    poisoned[50] = message("fail");
    let _ = consumer.dispatch_batch(&poisoned).await; // the first use of each statement
    for envelope in &mut poisoned {
        *envelope = message(WRITE);
    }
    poisoned[50] = message("fail");
    let trips = trips_of(&proxy, &pool, async || {
        let answers = consumer.dispatch_batch(&poisoned).await;
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 99);
    })
    .await;
    // 50 in vain and their rollback; 99 again, of which 49 in 4 parts of a claim and a mark each.
    let (in_vain, again, apart, pings) = (2 + 50 + 1, 2 + 99 + 1 + 4 * 2 + 1, 3, 3);
    assert_eq!(trips, in_vain + again + apart + pings, "{}", proxy.trace());
}

#[tokio::test]
async fn a_batch_of_duplicates_leaves_no_error_no_transaction_id_and_no_wal() {
    let cluster = Cluster::start(Options::default().setting("autovacuum", "off")).await.unwrap();
    let bed = Bed::on(cluster.server(), |pool| pool.max_connections(2), |session| session).await;
    let consumer = bed.inbox().await.consumer(CONSUMER).unwrap();
    let envelopes = good(100);
    for expected in [Outcome::Processed, Outcome::SkippedDuplicate] {
        for answer in consumer.dispatch_batch(&envelopes).await {
            assert_eq!(answer.unwrap(), expected);
        }
    }
    let next_xid = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
    let wal = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint";
    let (xid, before) = (bed.outside(next_xid).await, bed.outside(wal).await);
    for _ in 0..10 {
        for answer in consumer.dispatch_batch(&envelopes).await {
            assert_eq!(answer.unwrap(), Outcome::SkippedDuplicate);
        }
    }
    assert_eq!(bed.outside(next_xid).await, xid);
    // The server itself logs its running transactions now and then, in some 60 bytes.
    let written = bed.outside(wal).await - before;
    assert!(written < 1_000, "1,000 duplicates wrote {written} bytes of WAL");
    let dead = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'messages'";
    assert_eq!(bed.outside(dead).await, 0);
    let log = bed.database.log().unwrap();
    assert!(!log.contains("ERROR:") && !log.contains("WARNING:"), "{log}");
}

/// A batch's session is read-only but for the batch: it must not stay so, however the batch ends.
#[tokio::test]
async fn however_a_batch_ends_its_connection_writes_again() {
    let bed = Bed::with(|pool| pool.max_connections(1), |session| session).await;
    bed.run(
        "CREATE TABLE parents (id text PRIMARY KEY); \
         CREATE TABLE children (parent text REFERENCES parents DEFERRABLE INITIALLY DEFERRED)",
    )
    .await;
    let consumer = bed.inbox().await.consumer(CONSUMER).unwrap();
    let mut worker = consumer.worker();
    for poison in [
        WRITE,
        "fail",
        "SELECT 1/0",
        "ROLLBACK",
        "COMMIT",
        "ROLLBACK; BEGIN",
        "INSERT INTO children VALUES ('orphan')",
        "SET TRANSACTION READ ONLY",
        "SAVEPOINT mine",
    ] {
        for through_the_worker in [false, true] {
            let mut envelopes = good(40);
            envelopes[30] = message(poison);
            let answers = match through_the_worker {
                true => worker.dispatch_batch(&envelopes).await,
                false => consumer.dispatch_batch(&envelopes).await,
            };
            let failed = answers.iter().filter(|answer| answer.is_err()).count();
            assert!(failed <= 1, "{poison}: {answers:?}");
            if through_the_worker {
                assert_eq!(worker.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
                worker = consumer.worker();
            }
            bed.run("INSERT INTO effects VALUES ('the application')").await;
            let off =
                "SELECT (current_setting('default_transaction_read_only') = 'off')::int::bigint";
            assert_eq!(bed.number(off).await, 1, "{poison}");
        }
    }
}

#[tokio::test]
async fn a_handler_that_ends_the_transaction_of_a_batch_makes_nobodys_writes_durable() {
    let bed = Bed::new().await;
    let consumer = bed.inbox().await.consumer(CONSUMER).unwrap();
    for escape in ["ROLLBACK", "COMMIT", "ROLLBACK; BEGIN", "COMMIT AND CHAIN"] {
        bed.run("TRUNCATE effects").await;
        let mut envelopes = good(10);
        envelopes[4] = message(&format!("{escape}; {WRITE}; COMMIT"));
        let answers = consumer.dispatch_batch(&envelopes).await;
        let error = answers[4].as_ref().unwrap_err();
        assert_eq!(error.kind(), DispatchErrorKind::TransactionEscaped, "{escape}: {error:?}");
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 9, "{escape}");
        // What the escaping message writes by itself when it is run apart may be durable; through a pooler
        // also what it writes in each run that it shares.
        let runs = if through_a_pooler() { 4 } else { 1 };
        let by_itself = bed.number("SELECT count(*) FROM effects").await - 9;
        assert!((0..=runs).contains(&by_itself), "{escape}: {by_itself} effects too many");
    }
}

/// One row of a batch's has the trigger that refuses a handler's COMMIT: it must not be lost with a part
/// that is undone, nor go without for the messages after the batch.
#[tokio::test]
async fn a_handlers_commit_is_refused_also_after_an_undone_part_and_after_a_batch() {
    let bed = Bed::with(|pool| pool.max_connections(1), |session| session).await;
    let consumer = bed.inbox().await.consumer(CONSUMER).unwrap();
    let mut worker = consumer.worker();
    for place in [2, 10, 20] {
        bed.run("TRUNCATE effects").await;
        let mut envelopes = good(40);
        for poison in [0, place - 1] {
            envelopes[poison] = message("fail"); // the first: nobody is trusted; the second: undone
        }
        envelopes[place] = message(&format!("{WRITE}; COMMIT"));
        let answers = worker.dispatch_batch(&envelopes).await;
        let processed = answers.iter().filter(|answer| matches!(answer, Ok(Outcome::Processed)));
        assert_eq!(processed.count(), 37, "{place}: {answers:?}");
        let escaped = answers[place].as_ref().unwrap_err();
        assert_eq!(escaped.kind(), DispatchErrorKind::TransactionEscaped, "{place}: {escaped:?}");
        let escaped = worker.dispatch(&message(&format!("{WRITE}; COMMIT"))).await.unwrap_err();
        assert_eq!(escaped.kind(), DispatchErrorKind::TransactionEscaped, "{place}: {escaped:?}");
        assert_eq!(bed.effects().await, 37, "{place}: a handler's COMMIT went through");
    }
}

#[tokio::test]
async fn a_role_with_no_more_than_it_needs_runs_batches() {
    let bed = Bed::new().await;
    let role = format!("batch_{}", bed.database.name());
    bed.run(&format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA inbox TO {role}; \
         GRANT SELECT ON inbox.migrations TO {role}; GRANT SELECT, INSERT ON inbox.messages TO {role}; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON inbox.attempts, inbox.dead_letters TO {role}; \
         GRANT INSERT ON effects TO {role}"
    ))
    .await;
    let url = bed.database.url_as(&role).unwrap();
    let pool = sqlx::PgPool::connect(&url).await.unwrap();
    let inbox = crate::bed::inbox_on(pool.clone(), bed.signals.clone()).build().await.unwrap();
    let mut envelopes = good(40);
    envelopes[9] = message("fail");
    let answers = inbox.consumer(CONSUMER).unwrap().dispatch_batch(&envelopes).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 39, "{answers:?}");
    assert_eq!((bed.effects().await, bed.rows().await), (39, 39));
    pool.close().await;
    until("its sessions are gone", || async {
        let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE usename = '{role}'");
        bed.outside(&sql).await == 0
    })
    .await;
    bed.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}

#[tokio::test]
async fn what_is_kept_beside_a_row_is_kept_of_each_message_of_a_batch() {
    let bed = Bed::new().await;
    let store = bed.store().keep_audit().keep_fingerprint();
    let inbox = crate::bed::inbox_with(store, bed.signals.clone()).build().await.unwrap();
    let consumer = inbox.consumer(CONSUMER).unwrap();
    let with = |envelope: Envelope, n: usize| match n % 2 {
        0 => envelope.with_source(format!("source-{n}")).with_correlation_id(format!("c-{n}")),
        _ => envelope,
    };
    let envelopes: Vec<_> = good(6).into_iter().enumerate().map(|(n, e)| with(e, n)).collect();
    for answer in consumer.dispatch_batch(&envelopes).await {
        assert_eq!(answer.unwrap(), Outcome::Processed);
    }
    let kept = "SELECT count(*) FROM inbox.messages WHERE octet_length(fingerprint) = 16 AND \
                (source IS NULL) = (correlation_id IS NULL) AND (source IS NULL OR \
                right(source, 1) = right(correlation_id, 1))";
    assert_eq!(bed.number(kept).await, 6);
    assert_eq!(bed.number("SELECT count(DISTINCT source) FROM inbox.messages").await, 3);
    for answer in consumer.dispatch_batch(&envelopes).await {
        assert_eq!(answer.unwrap(), Outcome::SkippedDuplicate);
    }
}

/// Each takes a place in the server's table of locks.
#[tokio::test]
async fn a_transaction_claims_five_hundred_messages_at_most() {
    let bed = Bed::new().await;
    let consumer = bed.inbox().await.consumer(CONSUMER).unwrap();
    let envelopes: Vec<_> = (0..750).map(|_| message("SELECT 1")).collect();
    for answer in consumer.dispatch_batch(&envelopes).await {
        assert_eq!(answer.unwrap(), Outcome::Processed);
    }
    let largest = "SELECT max(n) FROM (SELECT count(*) AS n FROM inbox.messages \
                   GROUP BY xmin::text) AS transactions";
    assert_eq!(bed.number(largest).await, 500);
}

/// The server ends a session that is idle in its transaction for too long; handlers that only call others
/// send no statement.
#[tokio::test]
async fn a_batch_that_has_no_statement_for_long_asks_how_its_transaction_stands() {
    let bed = Bed::new().await;
    let (proxy, pool) = counted(&bed).await;
    let inbox = direct(&bed, pool.clone()).build().await.unwrap();
    let consumer = inbox.consumer(CONSUMER).unwrap();
    let _ = consumer.dispatch_batch(&good(2)).await;
    for (first, proofs) in [("SELECT 1", 0), ("SELECT pg_sleep(10.2)", 1)] {
        let mut envelopes = good(3);
        envelopes[0] = message(first);
        let trips = trips_of(&proxy, &pool, async || {
            for answer in consumer.dispatch_batch(&envelopes).await {
                assert_eq!(answer.unwrap(), Outcome::Processed);
            }
        })
        .await;
        assert_eq!(trips, 3 + 3 + 1 + proofs, "{}", proxy.trace());
    }
}

/// A pooler in transaction mode may send what comes after a lost transaction to any server, where it would
/// be durable by itself: no setting of the session can prevent that.
#[tokio::test]
async fn through_a_pooler_each_message_of_a_batch_is_proven_and_no_session_is_changed() {
    let bed = Bed::new().await;
    let (proxy, pool) = counted(&bed).await;
    let store = PgInboxStore::new(pool.clone()).accept_fsync_off().through_a_transaction_pooler();
    let inbox = inbox_with(store, bed.signals.clone()).build().await.unwrap();
    let consumer = inbox.consumer(CONSUMER).unwrap();
    let _ = consumer.dispatch_batch(&good(2)).await;
    let mut envelopes = good(10);
    let trips = trips_of(&proxy, &pool, async || {
        for answer in consumer.dispatch_batch(&envelopes).await {
            assert_eq!(answer.unwrap(), Outcome::Processed);
        }
    })
    .await;
    assert_eq!(trips, 3 + 10 + 9 + 1, "{}", proxy.trace());
    bed.run("TRUNCATE effects").await;
    for envelope in &mut envelopes {
        *envelope = message(WRITE);
    }
    envelopes[4] = message("ROLLBACK");
    let untouched = "SELECT 1 / (current_setting('default_transaction_read_only') = 'off')::int";
    envelopes[7] = message(untouched);
    let answers = consumer.dispatch_batch(&envelopes).await;
    let error = answers[4].as_ref().unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::TransactionEscaped, "{error:?}");
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 9, "{answers:?}");
    assert_eq!(bed.effects().await, 8, "one each");
}

/// Its rollback gave the claims back, and another delivery of an innocent message was quicker: its row is
/// no sign that the batch is durable.
#[tokio::test]
async fn who_lost_its_claim_by_anothers_rollback_is_not_told_that_it_escaped() {
    let bed = Bed::new().await;
    let pool = PgPoolOptions::new().max_connections(3).connect(bed.database.direct_url()).await;
    let inbox = direct(&bed, pool.unwrap()).build().await.unwrap();
    let consumer = inbox.consumer(CONSUMER).unwrap();
    let mut envelopes = good(6);
    envelopes[1] = message("ROLLBACK");
    envelopes[2] = message("wait");
    let running = {
        let (consumer, envelopes) = (consumer.clone(), envelopes.clone());
        tokio::spawn(async move { consumer.dispatch_batch(&envelopes).await })
    };
    until("the third has started", || async { bed.signals.starts() == 3 }).await;
    assert_eq!(consumer.dispatch(&envelopes[5]).await.unwrap(), Outcome::Processed);
    until("the batch has ended", || async {
        bed.signals.go.notify_one();
        running.is_finished()
    })
    .await;
    let answers = running.await.unwrap();
    assert_eq!(*answers[5].as_ref().unwrap(), Outcome::SkippedDuplicate, "{answers:?}");
    let error = answers[1].as_ref().unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::TransactionEscaped, "{error:?}");
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 5, "{answers:?}");
}

#[tokio::test]
async fn a_skip_that_is_not_committed_holds_up_nobody_but_its_message() {
    let bed = Bed::new().await;
    let consumer = bed.inbox().await.consumer(CONSUMER).unwrap();
    let mut envelopes = good(5);
    let id = Uuid::now_v7();
    envelopes[3] = Envelope::new(id, Script::EVENT_TYPE, WRITE);
    let mut operator = PgConnection::connect(bed.database.direct_url()).await.unwrap();
    let skip = format!("BEGIN; SELECT inbox.skip('{CONSUMER}', '{id}', 'by hand')");
    sqlx::raw_sql(sqlx::AssertSqlSafe(skip)).execute(&mut operator).await.unwrap();
    let mut answers = consumer.dispatch_batch(&envelopes).await;
    let error = answers.remove(3).unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::InFlight, "{error:?}");
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Outcome::Processed))), "{answers:?}");
    sqlx::raw_sql("COMMIT").execute(&mut operator).await.unwrap();
    let skipped = consumer.dispatch(&envelopes[3]).await.unwrap();
    assert_eq!(skipped, Outcome::SkippedDuplicate);
}
