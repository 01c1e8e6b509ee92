//! An asynchronous standby is promoted after its primary is lost.
//!
//! `Ok` means durable on the server that answered. Where nobody waits for the standby, what was committed
//! after it was last heard of is lost with the primary: effects and dedup rows together, never one
//! without the other, so that what is delivered again takes effect exactly once.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use battery::{
    CONSUMERS, Form, Ledger, Message, Stage, inbox_on, message, store_on, through_a_pooler,
};
use inbox::{Inbox, Outcome};
use inbox_postgres::PgInboxStore;
use sqlx::{AssertSqlSafe, PgPool};
use test_servers::postgres::{Cluster, Options};

async fn inbox(pool: &PgPool) -> Inbox<PgInboxStore> {
    let inbox = inbox_on(store_on(pool.clone()), Ledger::default(), Duration::from_secs(10));
    inbox.build().await.unwrap()
}

/// Delivers each to both consumers and answers the new ones.
async fn deliver(inbox: &Inbox<PgInboxStore>, count: usize) -> Vec<Message> {
    let messages: Vec<Message> = (0..count).map(|_| Message::new()).collect();
    for one in &messages {
        for answer in answers(inbox, *one).await {
            assert_eq!(answer, Outcome::Processed);
        }
    }
    messages
}

async fn answers(inbox: &Inbox<PgInboxStore>, one: Message) -> [Outcome; 2] {
    let [first, second] = CONSUMERS.map(|name| inbox.consumer(name).unwrap());
    [first.dispatch(&message(one)).await.unwrap(), second.dispatch(&message(one)).await.unwrap()]
}

async fn is_true(pool: &PgPool, sql: &str) -> bool {
    sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(pool).await.unwrap()
}

async fn until_true(pool: &PgPool, sql: &str) {
    let patience = tokio::time::timeout(Duration::from_secs(30), async {
        while !is_true(pool, sql).await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    patience.await.unwrap_or_else(|_| panic!("never came to be: {sql}"));
}

async fn until_caught_up(primary: &Stage, standby: &Cluster) {
    let sql = "SELECT pg_current_wal_insert_lsn()::text";
    let written: String = sqlx::query_scalar(sql).fetch_one(&primary.pool).await.unwrap();
    let replayed = format!("SELECT pg_last_wal_replay_lsn() >= '{written}'");
    let pool = PgPool::connect(standby.server().direct_url()).await.unwrap();
    until_true(&pool, &replayed).await;
}

/// From now on the standby hears nothing.
async fn detach(standby: &Stage) {
    let empty = "ALTER SYSTEM SET primary_conninfo = ''";
    sqlx::query(empty).execute(&standby.pool).await.unwrap();
    assert!(is_true(&standby.pool, "SELECT pg_reload_conf()").await);
    until_true(&standby.pool, "SELECT NOT EXISTS (SELECT FROM pg_stat_wal_receiver)").await;
}

/// A standby can be read and not written to: the inbox does not start on it, and takes no message.
async fn refused(standby: &Stage) {
    let inbox =
        inbox_on(store_on(standby.pool.clone()), Ledger::default(), Duration::from_secs(10));
    let error = inbox.build().await.unwrap_err();
    assert!(error.to_string().contains("standby"), "{error}");
}

#[tokio::test]
async fn a_promoted_standby_lacks_whole_messages_and_takes_them_again() {
    if through_a_pooler() {
        return; // servers of its own, without one
    }
    let count = Form::chosen().times(40, 1000);
    let mut primary = Cluster::start(Options::default().durable()).await.unwrap();
    let follower = primary.standby().await.unwrap();
    let stage = Stage::on(primary.server()).await.unwrap();
    let at_primary = inbox(&stage.pool).await;
    let kept = deliver(&at_primary, count).await;
    stage.books.publish(&kept).await.unwrap();
    until_caught_up(&stage, &follower).await;
    let standby = stage.at_standby(follower.server()).await.unwrap();
    refused(&standby).await;

    detach(&standby).await;
    let lost = deliver(&at_primary, count).await;
    primary.kill9().await.unwrap();
    follower.promote().await.unwrap();
    let proof = standby.books.proof().await.unwrap();
    assert!(proof.is_exact() && proof.messages() == count as i64, "{proof}");

    let promoted = inbox(&standby.pool).await;
    for one in kept {
        assert_eq!(answers(&promoted, one).await, [Outcome::SkippedDuplicate; 2]);
    }
    standby.books.publish(&lost).await.unwrap();
    for one in lost {
        assert_eq!(answers(&promoted, one).await, [Outcome::Processed; 2]);
    }
    let proof = standby.books.proof().await.unwrap();
    println!("{count} messages reached the standby, {count} were lost with the primary\n{proof}");
    assert!(proof.is_exact() && proof.messages() == 2 * count as i64, "{proof}");
}
