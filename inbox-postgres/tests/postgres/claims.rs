//! The claim: never waits in the database, and a duplicate leaves no trace.

use std::time::Duration;

use inbox::{DispatchErrorKind, Envelope, Outcome};
use inbox_postgres::PgInboxStore;
use sqlx::Connection as _;
use test_servers::postgres::{Cluster, Options};

use crate::bed::{Bed, CONSUMER, inbox_with, message, through_a_pooler};

const WRITE: &str = "INSERT INTO effects VALUES ('a')";

/// What the claim in the schema `inbox` locks, taken by another session.
const LOCK_THE_PAIR: &str = "SELECT pg_advisory_xact_lock(inbox.lock_key($1, $2))";

#[tokio::test]
async fn a6_an_ordinary_duplicate_leaves_no_error_no_transaction_id_no_wal_and_no_dead_tuple() {
    // A cluster of its own: its counters are nobody else's.
    let cluster = Cluster::start(Options::default().setting("autovacuum", "off")).await.unwrap();
    let bed = Bed::on(cluster.server(), |pool| pool.max_connections(2), |session| session).await;
    let inbox = bed.inbox().await;
    let envelope = message(WRITE);
    assert_eq!(inbox.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    // The first read of the row sets its hint bits.
    assert_eq!(inbox.dispatch(&envelope).await.unwrap(), Outcome::SkippedDuplicate);
    let next_xid = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
    let wal = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint";
    let (xid, wal_before) = (bed.outside(next_xid).await, bed.outside(wal).await);
    for _ in 0..50 {
        assert_eq!(inbox.dispatch(&envelope).await.unwrap(), Outcome::SkippedDuplicate);
    }
    assert_eq!(bed.outside(next_xid).await, xid);
    // The server itself logs its running transactions now and then, in some 60 bytes.
    let written = bed.outside(wal).await - wal_before;
    assert!(written < 50 * 20, "50 duplicates wrote {written} bytes of WAL");
    let dead = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'messages'";
    assert_eq!(bed.outside(dead).await, 0);
    let log = bed.database.log().unwrap();
    assert!(!log.contains("ERROR:") && !log.contains("WARNING:"), "{log}");
}

#[tokio::test]
async fn a_twin_in_flight_parks_no_connection_and_is_then_skipped() {
    // Two connections: the first delivery's, and one for everybody else.
    let bed = Bed::with(|pool| pool.max_connections(2), |session| session).await;
    let inbox = bed.inbox().await;
    let slow = message(&format!("{WRITE}; wait"));
    let first = tokio::spawn({
        let (inbox, slow) = (inbox.clone(), slow.clone());
        async move { inbox.dispatch(&slow).await }
    });
    bed.signals.started.notified().await;
    let twins: Vec<_> = (0..8)
        .map(|_| {
            let (inbox, slow) = (inbox.clone(), slow.clone());
            tokio::spawn(async move { inbox.dispatch(&slow).await })
        })
        .collect();
    // While eight twins wait, other messages flow through the one connection that is left.
    for _ in 0..5 {
        assert_eq!(inbox.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
    }
    bed.signals.go.notify_one();
    assert_eq!(first.await.unwrap().unwrap(), Outcome::Processed);
    for twin in twins {
        assert_eq!(twin.await.unwrap().unwrap(), Outcome::SkippedDuplicate);
    }
    assert_eq!(bed.signals.starts(), 6, "c3: no twin started its handler");
    assert_eq!((bed.effects().await, bed.rows().await), (6, 6));
}

#[tokio::test]
async fn a_processed_message_is_skipped_although_another_duplicate_is_just_asking() {
    let bed = Bed::new().await;
    let inbox = bed.builder().claim_wait(Duration::from_millis(50)).build().await.unwrap();
    let id = uuid::Uuid::now_v7();
    let envelope = Envelope::new(id, "tests.script.v1", WRITE);
    assert_eq!(inbox.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    let mut asking = sqlx::PgConnection::connect(bed.database.direct_url()).await.unwrap();
    let mut asking = asking.begin().await.unwrap();
    sqlx::query(LOCK_THE_PAIR).bind(CONSUMER).bind(id).execute(&mut *asking).await.unwrap();
    assert_eq!(inbox.dispatch(&envelope).await.unwrap(), Outcome::SkippedDuplicate);
    asking.rollback().await.unwrap();
}

#[tokio::test]
async fn a_twin_in_flight_longer_than_claim_wait_is_in_flight() {
    let bed = Bed::new().await;
    let inbox = bed.builder().claim_wait(Duration::from_millis(50)).build().await.unwrap();
    let slow = message(&format!("{WRITE}; wait"));
    let first = tokio::spawn({
        let (inbox, slow) = (inbox.clone(), slow.clone());
        async move { inbox.dispatch(&slow).await }
    });
    bed.signals.started.notified().await;
    let error = inbox.dispatch(&slow).await.unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::InFlight);
    assert!(error.is_transient() && !error.counts_attempt());
    bed.signals.go.notify_one();
    assert_eq!(first.await.unwrap().unwrap(), Outcome::Processed);
}

#[tokio::test]
async fn two_inboxes_in_two_schemas_of_one_database_are_no_twins() {
    let bed = Bed::new().await;
    let elsewhere = PgInboxStore::in_schema(bed.pool.clone(), "elsewhere").unwrap();
    let elsewhere = elsewhere.accept_fsync_off();
    let elsewhere =
        if through_a_pooler() { elsewhere.without_named_statements() } else { elsewhere };
    elsewhere.migrate().await.unwrap();
    let [here, there] = [bed.store(), elsewhere].map(|store| {
        inbox_with(store, bed.signals.clone()).claim_wait(Duration::from_millis(50)).build()
    });
    let (here, there) = (here.await.unwrap(), there.await.unwrap());
    let id = uuid::Uuid::now_v7();
    let slow = Envelope::new(id, "tests.script.v1", format!("{WRITE}; wait"));
    let first = tokio::spawn(async move { here.dispatch(&slow).await });
    bed.signals.started.notified().await;
    let same_id = Envelope::new(id, "tests.script.v1", WRITE);
    assert_eq!(there.dispatch(&same_id).await.unwrap(), Outcome::Processed);
    bed.signals.go.notify_one();
    assert_eq!(first.await.unwrap().unwrap(), Outcome::Processed);
}

#[tokio::test]
async fn a_twin_that_failed_leaves_the_message_to_the_waiting_one() {
    let bed = Bed::new().await;
    let inbox = bed.inbox().await;
    let failing = message("wait; fail");
    let first = tokio::spawn({
        let (inbox, failing) = (inbox.clone(), failing.clone());
        async move { inbox.dispatch(&failing).await }
    });
    bed.signals.started.notified().await;
    let second = tokio::spawn({
        let (inbox, failing) = (inbox.clone(), failing.clone());
        async move { inbox.dispatch(&failing).await }
    });
    bed.signals.go.notify_one();
    assert_eq!(first.await.unwrap().unwrap_err().kind(), DispatchErrorKind::Handler);
    bed.signals.started.notified().await; // the second one runs it again
    bed.signals.go.notify_one();
    assert_eq!(second.await.unwrap().unwrap_err().kind(), DispatchErrorKind::Handler);
    assert_eq!(bed.signals.starts(), 2);
    assert_eq!(bed.rows().await, 0);
}

#[tokio::test]
async fn c7_a_pool_of_one_never_deadlocks_itself() {
    let bed = Bed::with(|pool| pool.max_connections(1), |session| session).await;
    let inbox = bed.inbox().await;
    let envelope = message(WRITE);
    let dispatches: Vec<_> = (0..20)
        .map(|_| {
            let (inbox, envelope) = (inbox.clone(), envelope.clone());
            tokio::spawn(async move { inbox.dispatch(&envelope).await })
        })
        .collect();
    let mut processed = 0;
    for dispatch in dispatches {
        match dispatch.await.unwrap().unwrap() {
            Outcome::Processed => processed += 1,
            other => assert_eq!(other, Outcome::SkippedDuplicate),
        }
    }
    assert_eq!((processed, bed.effects().await), (1, 1));
}

#[tokio::test]
async fn audit_and_fingerprint_are_kept_where_asked_for_and_notice_a_reused_id() {
    use inbox::{Envelope, HandlerRegistration, Inbox};
    let bed = Bed::new().await;
    let keeping = bed.store().keep_audit().keep_fingerprint();
    let inbox = Inbox::builder()
        .store(keeping)
        .state(bed.signals.clone())
        .register(HandlerRegistration::new::<crate::bed::Run>(crate::bed::CONSUMER, "run"))
        .build()
        .await
        .unwrap();
    let id = uuid::Uuid::now_v7();
    let make = |payload: &str, source: &str| {
        Envelope::new(id, "tests.script.v1", payload)
            .with_source(source)
            .with_correlation_id("c-1")
            .with_causation_id("d-1")
    };
    assert_eq!(inbox.dispatch(&make(WRITE, "shop")).await.unwrap(), Outcome::Processed);
    let kept = "SELECT count(*) FROM inbox.messages WHERE source = 'shop' AND correlation_id = 'c-1' \
                AND causation_id = 'd-1' AND octet_length(fingerprint) = 16";
    assert_eq!(bed.number(kept).await, 1);
    assert_eq!(inbox.dispatch(&make(WRITE, "shop")).await.unwrap(), Outcome::SkippedDuplicate);
    for other in [make("SELECT 1", "shop"), make(WRITE, "elsewhere")] {
        let error = inbox.dispatch(&other).await.unwrap_err();
        assert_eq!(error.kind(), DispatchErrorKind::IdReused);
        assert!(error.is_permanent());
    }
    assert_eq!(bed.effects().await, 1);
}

/// A pooler in transaction mode may change the server between an unnamed statement's parsing and its use.
#[tokio::test]
async fn a_look_up_without_named_statements_stays_on_one_server_connection() {
    let bed = Bed::with(|pool| pool.max_connections(16), |session| session).await;
    let inbox = bed.inbox().await;
    let mut looking_up = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let inbox = inbox.clone();
        looking_up.spawn(async move {
            for _ in 0..40 {
                let unknown = Envelope::new(uuid::Uuid::now_v7(), "tests.unknown.v1", "");
                let error = inbox.dispatch(&unknown).await.unwrap_err();
                assert_eq!(error.kind(), DispatchErrorKind::Unhandled, "{error:?}");
                assert_eq!(inbox.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
            }
        });
    }
    looking_up.join_all().await;
}

#[tokio::test]
async fn an_inbox_starts_while_others_are_at_work_through_the_same_pooler() {
    let bed = Bed::with(|pool| pool.max_connections(16), |session| session).await;
    let mut at_work = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let builders: Vec<_> = (0..20).map(|_| bed.builder()).collect();
        at_work.spawn(async move {
            for builder in builders {
                let inbox = builder.build().await.unwrap();
                assert_eq!(inbox.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
            }
        });
    }
    at_work.join_all().await;
}
