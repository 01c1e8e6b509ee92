//! Consumers are killed with `kill -9` wherever they are, again and again.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Stdio;
use std::time::Duration;

use battery::{Form, Message, Stage};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Distinct messages that are published for each life of the consumer.
const MESSAGES: usize = 40;

async fn started(stage: &Stage) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_battery-follower"));
    command.args([stage.url(), stage.direct_url()]).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("ready"));
    child
}

/// Each message two to four times: at once, and once more some way on.
async fn publish(stage: &Stage) -> usize {
    let mut deliveries: Vec<(f64, Message)> = Vec::new();
    for number in 0..MESSAGES {
        let message = Message::new();
        deliveries.extend([(number as f64, message), (number as f64 + 0.5, message)]);
        for _ in 0..fastrand::usize(0..3) {
            deliveries.push((number as f64 + 12.0 * fastrand::f64(), message));
        }
    }
    deliveries.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let deliveries: Vec<Message> = deliveries.into_iter().map(|(_, message)| message).collect();
    stage.publish(&deliveries).await.unwrap();
    deliveries.len()
}

/// How far the consumers have come, taken together.
async fn progress(stage: &Stage) -> i64 {
    let sql = "SELECT coalesce(sum(position), 0)::bigint FROM acks";
    sqlx::query_scalar(sql).fetch_one(&stage.pool).await.unwrap()
}

async fn left(stage: &Stage) -> i64 {
    let sql = "SELECT 2 * (SELECT count(*) FROM stream)";
    let all: i64 = sqlx::query_scalar(sql).fetch_one(&stage.pool).await.unwrap();
    all - progress(stage).await
}

#[derive(Debug, Default)]
struct Tally {
    deliveries: usize,
    kills: usize,
    /// Kills before which the process had acknowledged something.
    kills_after_progress: usize,
    ended_first: usize,
}

#[tokio::test]
async fn a_consumer_killed_anywhere_loses_and_doubles_nothing() {
    let stage = Stage::new().await.unwrap();
    let kills = Form::chosen().times(20, 300);
    let mut tally = Tally::default();
    while tally.kills < kills {
        if left(&stage).await < 200 {
            tally.deliveries += publish(&stage).await;
        }
        let before = progress(&stage).await;
        let mut child = started(&stage).await;
        let life = Duration::from_micros(fastrand::u64(0..300_000));
        match tokio::time::timeout(life, child.wait()).await {
            Ok(status) => {
                assert!(status.unwrap().success(), "the consumer failed by itself");
                tally.ended_first += 1;
            }
            Err(_) => {
                child.kill().await.unwrap();
                tally.kills += 1;
                tally.kills_after_progress += usize::from(progress(&stage).await > before);
            }
        }
    }
    assert!(started(&stage).await.wait().await.unwrap().success());
    let proof = stage.proof_of_all().await.unwrap();
    println!("{tally:?}\n{proof}");
    assert!(proof.is_exact(), "{proof}");
    assert!(proof.messages() > 0 && tally.kills_after_progress > 0, "{tally:?}");
    assert_eq!(left(&stage).await, 0);
}
