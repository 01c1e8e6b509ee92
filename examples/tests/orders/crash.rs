//! Killed, restarted, and run twice at once: the tables are what the distinct events give.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::input::Stream;
use crate::program::{Ended, orders, tables};

fn start(file: &Path, db: &Path) -> Child {
    let mut command: Command = orders();
    command.arg(file).arg("--json").arg("--db").arg(db);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finish(file: &Path, db: &Path) -> Ended {
    start(file, db).wait_with_output().unwrap().into()
}

/// Runs until the program tells that it has got so far, and kills it without warning.
fn kill_at(lines: &str, file: &Path, db: &Path) {
    let mut child = start(file, db);
    let told = BufReader::new(child.stderr.take().unwrap()).lines();
    let reached = told.map(Result::unwrap).any(|line| line == lines);
    assert!(reached, "the program ended before it told of {lines}");
    child.kill().unwrap(); // SIGKILL
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stdout.len()), (None, 0), "it was killed half-way");
}

#[tokio::test]
async fn a_stream_killed_half_way_and_rerun_is_exact() {
    let directory = tempfile::tempdir().unwrap();
    let (file, db) = (directory.path().join("in.jsonl"), directory.path().join("stock.db"));
    let stream = Stream::generate(4000, 1);
    std::fs::write(&file, stream.text()).unwrap();

    kill_at("1000 lines", &file, &db);
    let (_, orders) = tables(&db).await;
    assert!(!orders.is_empty() && orders.len() < stream.tables().1.len(), "half of it is there");
    kill_at("2000 lines", &file, &db);
    let ended = finish(&file, &db);

    let [delivered, processed, skipped, failed, rejected] = ended.counts();
    assert_eq!((ended.code, failed, rejected), (Some(0), 0, 0), "{}", ended.stderr);
    assert_eq!((delivered, processed + skipped), (4000, 4000));
    assert!(skipped > 2000 && processed > 0, "what was processed before is skipped: {skipped}");
    assert_eq!(tables(&db).await, stream.tables());
}

#[tokio::test]
async fn two_programs_on_one_stream_and_one_database_are_exact() {
    let directory = tempfile::tempdir().unwrap();
    let (file, db) = (directory.path().join("in.jsonl"), directory.path().join("stock.db"));
    let stream = Stream::generate(1000, 2);
    std::fs::write(&file, stream.text()).unwrap();

    let running = [start(&file, &db), start(&file, &db)];
    let ended = running.map(|child| Ended::from(child.wait_with_output().unwrap()));

    let [a, b] = ended.each_ref().map(Ended::counts);
    assert_eq!(ended.each_ref().map(|e| e.code), [Some(0), Some(0)], "{ended:?}");
    assert_eq!(a[1] + b[1], (1000 - stream.duplicates) as u64, "each event once: {a:?} {b:?}");
    assert_eq!(tables(&db).await, stream.tables());
}
