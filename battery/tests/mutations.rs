//! `scripts/mutations` takes too long for every run of the tests. That it still can do what it says is
//! looked after here.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use battery::mutations::{Mutation, mutations};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn text_of(mutation: &Mutation) -> String {
    fs::read_to_string(root().join(mutation.file)).unwrap_or_default()
}

#[test]
fn every_safeguard_is_still_where_the_mutation_check_takes_it_out() {
    let refused = |mutation: &Mutation| mutation.apply(&text_of(mutation)).err();
    let refused: Vec<String> =
        mutations().iter().filter_map(refused).map(|error| error.to_string()).collect();
    assert!(refused.is_empty(), "change battery/src/mutations:\n{}", refused.join("\n"));
}

#[test]
fn every_test_that_notices_is_there() {
    let mut sources = String::new();
    let places =
        ["inbox/src", "inbox-postgres/tests", "inbox-sqlite/tests", "tests/src", "tests/tests"];
    for folder in places {
        add_sources(&root().join(folder), &mut sources);
    }
    let missing = |mutation: &&Mutation| {
        let name = mutation.noticed_by.name;
        !["(", "<"].iter().any(|after| sources.contains(&format!("fn {name}{after}")))
    };
    let all = mutations();
    let missing: Vec<&str> =
        all.iter().filter(missing).map(|mutation| mutation.noticed_by.name).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn add_sources(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path.is_dir() {
            add_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn the_table_of_the_guarantees_is_what_is_tried() {
    let page = fs::read_to_string(root().join("docs/guarantees.md")).unwrap();
    let (_, table) =
        page.split_once("| safeguard taken out | what notices |\n|---|---|\n").unwrap();
    let rows: BTreeSet<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    let tried: Vec<String> = mutations()
        .iter()
        .map(|mutation| format!("| {} | `{}` |", mutation.safeguard, mutation.noticed_by.name))
        .collect();
    let tried: BTreeSet<&str> = tried.iter().map(String::as_str).collect();
    let missing: Vec<_> = tried.difference(&rows).collect();
    let gone: Vec<_> = rows.difference(&tried).collect();
    assert!(missing.is_empty() && gone.is_empty(), "missing: {missing:#?}, to go: {gone:#?}");
}
