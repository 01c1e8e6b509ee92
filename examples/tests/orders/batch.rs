//! `orders FILE --batch N`: many lines a commit, the same answers and the same tables.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use test_servers::postgres::{Server, TestDatabase};

use crate::input::{Stream, cancelled, event, placed, received};
use crate::program::{Ended, feed, orders, run, tables};

/// Where the lines are applied.
enum Target<'a> {
    File(&'a Path),
    Postgres(&'a TestDatabase),
}

impl Target<'_> {
    /// `orders - --json`.
    fn start(&self, batch: &str) -> Child {
        let mut command: Command = orders();
        command.args(["-", "--json", "--batch", batch]);
        match self {
            Self::File(path) => command.arg("--db").arg(path),
            Self::Postgres(database) => {
                let url = database.direct_url();
                command.args(["--accept-fsync-off", "--database-url", url])
            }
        };
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        pipes.spawn().unwrap()
    }

    fn apply(&self, batch: &str, input: String) -> Ended {
        feed(self.start(batch), input.into_bytes())
    }

    async fn tables(&self) -> (Vec<String>, Vec<String>) {
        match self {
            Self::File(path) => tables(path).await,
            Self::Postgres(database) => crate::postgres::tables(database).await,
        }
    }

    /// Kills the program without warning after it told of so many lines. It is never at its end by then:
    /// the last line is kept from it.
    fn kill_at(&self, batch: &str, told_of: &str, stream: &Stream) {
        let mut child = self.start(batch);
        let mut stdin = child.stdin.take().unwrap();
        let text = stream.lines[..stream.lines.len() - 1].join("\n") + "\n";
        let feeding = std::thread::spawn(move || {
            let _ = stdin.write_all(text.as_bytes()); // until it is killed
            stdin
        });
        let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(told.any(|line| line == told_of), "it ended before it told of {told_of}");
        child.kill().unwrap(); // SIGKILL
        let ended = child.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), ended.stdout.len()), (None, 0), "it was killed half-way");
        drop(feeding.join().unwrap());
    }

    async fn kill_half_way_and_run_again(&self, seed: u64) {
        let stream = Stream::generate(20_000, seed);
        self.kill_at("100", "3000 lines", &stream);
        let (_, orders) = self.tables().await;
        assert!(
            !orders.is_empty() && orders.len() < stream.tables().1.len(),
            "half of it is there"
        );
        self.kill_at("77", "6000 lines", &stream);
        let ended = self.apply("500", stream.text());

        let [delivered, processed, skipped, failed, rejected] = ended.counts();
        assert_eq!((ended.code, failed, rejected), (Some(0), 0, 0), "{}", ended.stderr);
        assert_eq!((delivered, processed + skipped), (20_000, 20_000));
        assert!(skipped > 6000 && processed > 0, "what was processed before is skipped: {skipped}");
        assert_eq!(self.tables().await, stream.tables());
    }
}

async fn database() -> TestDatabase {
    Server::shared().await.unwrap().create_database().await.unwrap()
}

#[tokio::test]
async fn a_stream_in_batches_killed_half_way_and_rerun_is_exact() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("stock.db");
    Target::File(&db).kill_half_way_and_run_again(11).await;
}

#[tokio::test]
async fn a_stream_in_batches_killed_half_way_and_rerun_is_exact_on_postgres() {
    Target::Postgres(&database().await).kill_half_way_and_run_again(12).await;
}

/// Every kind of line: the counts, the lines that are told of, and the tables are those of one by one.
#[tokio::test]
async fn lines_in_batches_are_answered_as_one_by_one() {
    let lines = [
        received("1", "tea", 9),
        placed("2", "a", "tea", 3),
        placed("2", "a", "tea", 3),
        placed("3", "b", "tea", 7), // more than there is
        placed("4", "a", "tea", 1), // placed before
        cancelled("5", "x"),
        event("6", "orders.order-shipped.v1", serde_json::json!({})),
        received("7", "tea", 0),
        "no CloudEvent".to_owned(),
        String::new(),
        received("8", "mate", 2),
    ]
    .join("\n");
    for batch in ["1", "3", "4", "1000"] {
        let directory = tempfile::tempdir().unwrap();
        let (db, database) = (directory.path().join("stock.db"), database().await);
        for target in [Target::File(&db), Target::Postgres(&database)] {
            let ended = target.apply(batch, lines.clone());
            assert_eq!((ended.code, ended.counts()), (Some(1), [10, 3, 1, 3, 3]), "{batch}");
            let told: Vec<u64> = ended.problems().iter().map(|(line, _)| *line).collect();
            assert_eq!(told, [4, 5, 6, 7, 8, 9], "{batch}");
            let (stock, orders) = target.tables().await;
            assert_eq!(stock, ["mate 2 0", "tea 9 3"], "{batch}");
            assert_eq!(orders, ["a tea 3 placed"], "{batch}");
        }
    }
}

#[test]
fn a_batch_has_a_file_and_a_line_at_least() {
    for arguments in [&["--batch", "5"][..], &["-", "--batch", "0"], &["-", "--batch", "many"]] {
        let ended = run(arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{arguments:?}: {ended:?}");
    }
}
