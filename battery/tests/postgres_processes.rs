//! Consumers on PostgreSQL are killed with `kill -9`.

use std::path::Path;

use battery::{Form, Kind, Lives, Stage};

#[tokio::test]
async fn a_consumer_killed_anywhere_loses_and_doubles_nothing() {
    let stage = Stage::new().await.unwrap();
    let lives = Lives {
        program: Path::new(env!("CARGO_BIN_EXE_battery-follower")),
        books: (Kind::Postgres, stage.direct_url()),
        inbox: stage.url(),
        at_once: 2,
    };
    let kills = Form::chosen().times(20, 300);
    let tally = lives.run(kills, async || Ok(())).await.unwrap();
    let proof = stage.books.proof().await.unwrap();
    println!("{tally:?}\n{proof}");
    assert!(proof.is_exact(), "{proof}");
    assert!(proof.messages() > 0 && tally.kills_after_progress > 0, "{tally:?}");
    assert_eq!(stage.books.progress().await.unwrap().1, 0);
}
