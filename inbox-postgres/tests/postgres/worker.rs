//! The worker: the same answers on one held connection, given back and replaced when it must be.

use inbox::{DispatchErrorKind, Outcome};

use crate::bed::{Bed, CONSUMER, message, until};

const WRITE: &str = "INSERT INTO effects VALUES ('a')";

#[tokio::test]
async fn a_worker_answers_as_a_dispatch_does() {
    let bed = Bed::with(|pool| pool.max_connections(1), |session| session).await;
    let inbox = bed.inbox().await;
    let mut worker = inbox.consumer(CONSUMER).unwrap().worker();
    for _ in 0..3 {
        let envelope = message(WRITE);
        assert_eq!(worker.dispatch(&envelope).await.unwrap(), Outcome::Processed);
        assert_eq!(worker.dispatch(&envelope).await.unwrap(), Outcome::SkippedDuplicate);
        let kinds = [
            ("fail", DispatchErrorKind::Handler),
            ("SELECT 1/0", DispatchErrorKind::Handler),
            ("ROLLBACK", DispatchErrorKind::TransactionEscaped),
        ];
        for (script, kind) in kinds {
            assert_eq!(worker.dispatch(&message(script)).await.unwrap_err().kind(), kind);
        }
    }
    drop(worker);
    assert_eq!((bed.effects().await, bed.rows().await), (3, 3));
}

#[tokio::test]
async fn an_idle_worker_gives_its_connection_back() {
    let bed = Bed::with(|pool| pool.max_connections(1), |session| session).await;
    let inbox = bed.inbox().await;
    let mut worker = inbox.consumer(CONSUMER).unwrap().worker();
    assert_eq!(worker.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
    assert_eq!(bed.idle_in_transaction().await, 1, "held, for the next message");
    // The only connection of the pool is to be had again although the worker lives.
    assert_eq!(bed.effects().await, 1);
    until("no session in a transaction", || async { bed.idle_in_transaction().await == 0 }).await;
    assert_eq!(worker.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
}

#[tokio::test]
async fn a_held_connection_that_died_is_replaced_without_an_error() {
    let bed = Bed::new().await;
    let inbox = bed.inbox().await;
    let mut worker = inbox.consumer(CONSUMER).unwrap().worker();
    assert_eq!(worker.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
    let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    assert_eq!(bed.outside(kill).await, 1);
    assert_eq!(worker.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
    assert_eq!((bed.effects().await, bed.rows().await), (2, 2));
}

#[tokio::test]
async fn a_read_only_transaction_does_not_outlive_its_message() {
    let bed = Bed::new().await;
    let inbox = bed.inbox().await;
    let mut worker = inbox.consumer(CONSUMER).unwrap().worker();
    let poison = message("SET TRANSACTION READ ONLY");
    assert_eq!(worker.dispatch(&poison).await.unwrap(), Outcome::Processed);
    assert_eq!(worker.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
    assert_eq!((bed.effects().await, bed.rows().await), (1, 2));
}

#[tokio::test]
async fn a_dropped_worker_leaves_nothing_open() {
    let bed = Bed::with(|pool| pool.max_connections(1), |session| session).await;
    let inbox = bed.inbox().await;
    for _ in 0..10 {
        let mut worker = inbox.consumer(CONSUMER).unwrap().worker();
        assert_eq!(worker.dispatch(&message(WRITE)).await.unwrap(), Outcome::Processed);
    }
    assert_eq!((bed.effects().await, bed.rows().await), (10, 10));
    until("no session in a transaction", || async { bed.idle_in_transaction().await == 0 }).await;
}
