//! Several consumers on one SQLite file are killed with `kill -9`.

use std::path::Path;

use battery::{Form, Kind, Lives, SqliteStage};

#[tokio::test]
async fn consumers_of_one_file_killed_anywhere_lose_and_double_nothing() {
    let stage = SqliteStage::new().await.unwrap();
    let (url, path) = (stage.url(), stage.path());
    let lives = Lives {
        program: Path::new(env!("CARGO_BIN_EXE_battery-follower")),
        books: (Kind::Sqlite, &url),
        inbox: path.to_str().unwrap(),
        at_once: 3,
    };
    let kills = Form::chosen().times(20, 300);
    let tally = lives.run(kills, async || stage.is_sound().await).await.unwrap();
    let books = stage.books().await.unwrap();
    let proof = books.proof().await.unwrap();
    println!("{tally:?}\n{proof}");
    assert!(proof.is_exact(), "{proof}");
    assert!(proof.messages() > 0 && tally.kills_after_progress > 0, "{tally:?}");
    assert_eq!(books.progress().await.unwrap().1, 0);
}
