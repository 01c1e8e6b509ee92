//! `cargo run --example orders`, without arguments.

use std::process::Stdio;

use crate::program::{Ended, orders};

#[test]
fn the_demonstration_ends_with_an_exact_proof_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let output = orders().env("TMPDIR", temporary.path()).stdin(Stdio::null()).output().unwrap();
    let ended = Ended::from(output);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.trim_end().ends_with("exact"), "{}", ended.stdout);
    for (name, count) in [
        ("delivered", 2500),
        ("distinct", 2000),
        ("processed", 2000),
        ("skipped (duplicates)", 400),
        ("failed then recovered", 100),
    ] {
        let counted = ended.stdout.lines().any(|line| cells(line) == [name, &count.to_string()]);
        assert!(counted, "{name} {count}: {}", ended.stdout);
    }
    let left = std::fs::read_dir(temporary.path()).unwrap().count();
    assert_eq!(left, 0, "the temporary database is gone");
}

#[test]
fn every_sku_is_proven_row_by_row() {
    let ended = run();
    let proven: Vec<_> = ended.stdout.lines().map(cells).filter(|row| row.len() == 6).collect();
    assert_eq!(proven[0], ["sku", "on_hand", "from events", "reserved", "from events", ""]);
    assert_eq!(proven.len(), 1 + 8);
    for row in &proven[1..] {
        assert_eq!((row[1], row[3], row[5]), (row[2], row[4], "✓"), "{row:?}");
        assert!(row[1].parse::<u64>().unwrap() > 0);
    }
}

#[test]
fn rows_come_first_and_one_of_every_kind_is_shown() {
    let ended = run();
    let mut lines = ended.stdout.lines();
    let [intro, blank, header] = std::array::from_fn(|_| lines.next().unwrap());
    assert!(intro.starts_with("2000 order events and 500 redeliveries"), "{intro}");
    assert!(intro.contains("200 while the first delivery is in flight"), "{intro}");
    let names: Vec<_> = header.split_whitespace().collect();
    assert_eq!((blank, names), ("", vec!["time", "event", "about", "outcome"]));
    let rows: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    assert!(rows.len() >= 12, "{rows:#?}");
    for kind in [
        "  processed",
        "  skipped duplicate, redelivered while the first was in flight",
        "  skipped duplicate, redelivered later",
        "  failed: handler `reserve_stock` failed: the simulated outage",
        "  processed, redelivered after it failed",
    ] {
        assert!(rows.iter().any(|row| row.ends_with(kind)), "{kind}: {rows:#?}");
    }
    let progress: Vec<_> =
        ended.stderr.lines().filter(|line| line.ends_with(" deliveries")).collect();
    assert_eq!(progress, ["1000 deliveries", "2000 deliveries"]);
}

fn run() -> Ended {
    crate::program::run::<&str>([])
}

/// The cells of a table's row.
fn cells(line: &str) -> Vec<&str> {
    let Some(row) = line.strip_prefix('│').and_then(|row| row.strip_suffix('│')) else {
        return Vec::new();
    };
    row.split(['│', '┆']).map(str::trim).collect()
}
