//! The process dies at any await of a dispatch.

use std::process::{Command, Stdio};

use inbox::{Envelope, Outcome};
use sqlx::PgPool;

use crate::bed::{Bed, Signals, abort_after, inbox_on};

const WRITE: &str = "INSERT INTO effects VALUES ('a'); INSERT INTO effects VALUES ('a')";
const POLLS: &str = "INBOX_CRASH_AFTER_POLLS";
const MESSAGE: &str = "INBOX_CRASH_MESSAGE";
const DATABASE: &str = "INBOX_CRASH_DATABASE";

/// Run as a process of its own by the test below; by itself it has nothing to do.
#[tokio::test]
async fn the_process_that_dies() {
    let Ok(polls) = std::env::var(POLLS) else { return };
    let pool = PgPool::connect(&std::env::var(DATABASE).unwrap()).await.unwrap();
    let inbox = inbox_on(pool, Signals::default()).build().await.unwrap();
    let id: uuid::Uuid = std::env::var(MESSAGE).unwrap().parse().unwrap();
    let envelope = Envelope::new(id, "tests.script.v1", WRITE);
    let ended = abort_after(inbox.dispatch(&envelope), polls.parse().unwrap(), || {
        std::process::abort();
    });
    ended.await;
}

#[tokio::test]
async fn a1_a_process_killed_at_any_await_leaves_exactly_one_effect_after_redelivery() {
    let bed = Bed::new().await;
    let inbox = bed.inbox().await;
    let (mut messages, mut killed, mut processed_before) = (0, 0, 0);
    // On a busy machine an answer may be there before it is waited for: then there are fewer awaits.
    for _ in 0..10 {
        for polls in 1..40 {
            let id = uuid::Uuid::now_v7();
            let envelope = Envelope::new(id, "tests.script.v1", WRITE);
            let died = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "crashes::the_process_that_dies"])
                .env(POLLS, polls.to_string())
                .env(MESSAGE, id.to_string())
                .env(DATABASE, bed.database.url())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            killed += i64::from(!died.success());
            match inbox.dispatch(&envelope).await.unwrap() {
                Outcome::SkippedDuplicate => processed_before += 1,
                other => assert_eq!(other, Outcome::Processed),
            }
            messages += 1;
            assert_eq!((bed.effects().await, bed.rows().await), (2 * messages, messages));
            if died.success() {
                break; // it got to its end before it was to die
            }
        }
        if killed >= 4 {
            break;
        }
    }
    println!("{killed} processes killed, {processed_before} of their messages were durable");
    assert!(killed >= 4, "at least once at each round trip");
    assert!(processed_before >= 1);
}
