//! `orders FILE`: what the lines do, what a rerun does, and how the program ends.

use std::path::Path;

use crate::input::{Stream, cancelled, event, placed, received};
use crate::program::{apply, open, run, tables};

#[tokio::test]
async fn lines_are_applied_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let (file, db) = (directory.path().join("in.jsonl"), directory.path().join("stock.db"));
    let lines = [
        received("1", "tea", 5),
        received("2", "mate", 1),
        placed("3", "a", "tea", 3),
        placed("4", "b", "tea", 2), // the last two pieces
        cancelled("5", "a"),
        placed("6", "c", "tea", 3), // what the cancellation released
        received("7", "tea", 4),
    ];
    std::fs::write(&file, lines.join("\n")).unwrap();

    let ended = run([file.as_os_str(), "--json".as_ref(), "--db".as_ref(), db.as_os_str()]);

    assert_eq!((ended.code, ended.counts()), (Some(0), [7, 7, 0, 0, 0]), "{}", ended.stderr);
    assert!(ended.problems().is_empty());
    let (stock, orders) = tables(&db).await;
    assert_eq!(stock, ["mate 1 0", "tea 9 5"]);
    assert_eq!(orders, ["a tea 3 cancelled", "b tea 2 placed", "c tea 3 placed"]);
}

#[tokio::test]
async fn the_tables_have_the_promised_columns_and_the_file_alone_is_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("stock.db");
    apply(received("1", "tea", 5), Some(&db));
    let files: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(files.len(), 1, "no log is left beside it: {files:?}");
    let mut database = open(&db).await;
    for (table, columns) in
        [("stock", "sku,on_hand,reserved"), ("orders", "order_id,sku,quantity,status")]
    {
        let query = "SELECT group_concat(name) FROM pragma_table_info($1)";
        let found: String =
            sqlx::query_scalar(query).bind(table).fetch_one(&mut database).await.unwrap();
        assert_eq!(found, columns);
    }
}

#[tokio::test]
async fn a_stream_with_duplicates_gives_what_its_distinct_events_give() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("stock.db");
    let stream = Stream::generate(500, 7);
    let duplicates = stream.duplicates as u64;
    assert!(duplicates > 100);

    let ended = apply(stream.text(), Some(&db));

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.counts(), [500, 500 - duplicates, duplicates, 0, 0]);
    assert_eq!(tables(&db).await, stream.tables());
}

#[tokio::test]
async fn a_rerun_skips_what_was_processed_and_tries_again_what_failed() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("stock.db");
    let lines = [received("1", "tea", 5), placed("2", "a", "tea", 9), placed("3", "b", "tea", 1)];
    let first = apply(lines.join("\n"), Some(&db));
    assert_eq!((first.code, first.counts()), (Some(1), [3, 2, 0, 1, 0]));
    let again = apply(lines.join("\n"), Some(&db));
    assert_eq!((again.code, again.counts()), (Some(1), [3, 0, 2, 1, 0]));

    apply(received("4", "tea", 5), Some(&db));
    let recovered = apply(lines.join("\n"), Some(&db));

    assert_eq!((recovered.code, recovered.counts()), (Some(0), [3, 1, 2, 0, 0]));
    let (stock, orders) = tables(&db).await;
    assert_eq!(
        (stock.join(" "), orders),
        ("tea 10 10".into(), vec!["a tea 9 placed".into(), "b tea 1 placed".to_owned()])
    );
}

#[tokio::test]
async fn a_failed_line_leaves_nothing_and_the_same_message_later_in_the_stream_is_tried() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("stock.db");
    let order = placed("1", "a", "tea", 2);
    let ended = apply(
        [&order, &received("2", "tea", 5), &order, &order].map(String::as_str).join("\n"),
        Some(&db),
    );
    assert_eq!((ended.code, ended.counts()), (Some(1), [4, 2, 1, 1, 0]));
    assert_eq!(ended.problems().len(), 1);
    assert_eq!(tables(&db).await.0, ["tea 5 2"]);
}

#[test]
fn an_id_is_unique_within_its_source() {
    let uuid = "019b9e1c-3f6a-7c52-8d7e-0b6a4f1c2d3e";
    for id in ["evt_1", "7", uuid, "orders/3/1742", "ä"] {
        let here = received(id, "tea", 1);
        let there = here.replace("\"/shop\"", "\"/other\"");
        let ended = apply(format!("{here}\n{there}\n{here}\n{there}"), None);
        assert_eq!((ended.code, ended.counts()), (Some(0), [4, 2, 2, 0, 0]), "{id}");
    }
}

#[tokio::test]
async fn a_database_that_another_process_keeps_locked_fails_the_line_and_a_rerun_applies_it() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("stock.db");
    apply(received("1", "tea", 5), Some(&db));
    let mut other = open(&db).await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();

    let locked = apply(received("2", "tea", 1), Some(&db));

    assert_eq!((locked.code, locked.counts()), (Some(1), [1, 0, 0, 1, 0]));
    assert!(locked.problems()[0].1.contains("database is locked"), "{}", locked.stderr);
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    let again = apply(received("2", "tea", 1), Some(&db));
    assert_eq!((again.code, again.counts()), (Some(0), [1, 1, 0, 0, 0]));
    assert_eq!(tables(&db).await.0, ["tea 6 0"]);
}

#[test]
fn the_summary_for_people_is_a_table() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("in.jsonl");
    let tea = received("1", "tea", 5);
    let unknown = event("2", "stock.lost.v1", serde_json::json!({}));
    let lines = [&tea, &tea, &tea, "", &unknown, &cancelled("3", "nobody"), &cancelled("4", "a")];
    std::fs::write(&file, lines.map(str::to_owned).join("\n")).unwrap();

    let ended = run([&file]);

    assert_eq!(ended.code, Some(1));
    let numbers: Vec<_> = ended
        .stdout
        .lines()
        .filter_map(|line| {
            let (name, count) = line.trim_matches('│').split_once(['│', '┆'])?;
            Some(format!("{} {}", name.trim(), count.trim()))
        })
        .collect();
    assert_eq!(
        numbers,
        [
            "delivered 6",
            "processed 1",
            "skipped (duplicates) 2",
            "failed (in a handler) 2",
            "rejected (before any handler) 1",
        ]
    );
}

#[test]
fn wrong_usage_and_files_that_cannot_be_read_exit_with_2() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("in.jsonl"), received("1", "tea", 5)).unwrap();
    std::fs::write(path("text.db"), "this is no database".repeat(100)).unwrap();
    let input = path("in.jsonl").display().to_string();
    let cases: [(&[&str], &str); 8] = [
        (&["--frobnicate"], "--frobnicate"),
        (&["--json"], "FILE"),
        (&["--db", "x.db"], "FILE"),
        (&[&input, "more"], "more"),
        (&[&path("absent").display().to_string()], "cannot read"),
        (&[&directory.path().display().to_string()], "cannot read"),
        (&[&input, "--db", &path("absent/stock.db").display().to_string()], "stock.db"),
        (&[&input, "--db", &path("text.db").display().to_string()], "text.db"),
    ];
    for (arguments, named) in cases {
        let ended = run(arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(named), "{arguments:?}: {}", ended.stderr);
    }
    assert!(!Path::new("x.db").exists());
}
