//! Mistakes that only rustc can see. Its own words change from one version to the next, so what is
//! asserted is how many errors there are and that each has our sentences in it.
//!
//! Beside `fail-rustc/<mistake>/<case>.rs` lies `<case>.expect`: a paragraph for each error, a line
//! for its place and for each sentence that must stand in it.

#![expect(clippy::unwrap_used, reason = "a test, also where its functions are no `#[test]`")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

#[test]
fn every_mistake_that_rustc_sees_is_told_with_our_sentences() {
    let cases = cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fail-rustc"));
    assert!(cases.len() > 20, "where are the cases?");
    let told = told(&cases);
    let mut problems = String::new();
    for (name, path) in &cases {
        let expected = fs::read_to_string(path.with_extension("expect")).unwrap();
        let expected: Vec<Vec<&str>> =
            expected.split("\n\n").map(|error| error.lines().collect()).collect();
        let errors = told.get(name).map_or(&[][..], Vec::as_slice);
        if let Some(problem) = problem(errors, &expected) {
            let told = errors.join("\n");
            writeln!(problems, "{}: {problem}\n{told}\n", path.display()).unwrap();
        }
    }
    assert!(problems.is_empty(), "\n{problems}");
}

/// What is wrong with `errors`, if each paragraph of `expected` should be found in one of them.
fn problem(errors: &[String], expected: &[Vec<&str>]) -> Option<String> {
    if errors.len() != expected.len() {
        return Some(format!("{} errors and not {}", errors.len(), expected.len()));
    }
    let told = |sentences: &Vec<&str>| {
        errors.iter().any(|error| sentences.iter().all(|sentence| error.contains(sentence)))
    };
    expected.iter().find(|sentences| !told(sentences)).map(|missing| format!("no {missing:?}"))
}

/// The cases by name.
fn cases(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut cases = BTreeMap::new();
    for mistake in fs::read_dir(folder).unwrap() {
        let mistake = mistake.unwrap().path();
        for case in fs::read_dir(&mistake).unwrap() {
            let case = case.unwrap().path();
            if case.extension().is_some_and(|extension| extension == "rs") {
                let name =
                    [&mistake, &case].map(|part| part.file_stem().unwrap().to_str().unwrap());
                cases.insert(name.join("-"), case);
            }
        }
    }
    cases
}

/// The errors of each case, from one run of cargo over a package with a binary for each.
fn told(cases: &BTreeMap<String, PathBuf>) -> BTreeMap<String, Vec<String>> {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fail-rustc");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("Cargo.toml"), manifest(cases)).unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::copy(workspace.join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    let output = Command::new(env::var_os("CARGO").unwrap())
        .current_dir(&package)
        .args(["check", "--bins", "--keep-going", "--offline", "--quiet"])
        .args(["--color=never", "--message-format=json"])
        .env("CARGO_TARGET_DIR", package.join("target"))
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let mut told = BTreeMap::<String, Vec<String>>::new();
    let mut messages = 0;
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (Some(target), message) = (line["target"]["name"].as_str(), &line["message"]) else {
            continue;
        };
        messages += 1;
        // Not the last one, "aborting due to 2 previous errors", which stands nowhere.
        let stands = message["spans"].as_array().is_some_and(|spans| !spans.is_empty());
        if message["level"] == "error" && stands {
            let text = message["rendered"].as_str().unwrap().to_owned();
            told.entry(target.to_owned()).or_default().push(text);
        }
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(messages > 0, "cargo said nothing about the cases: {said}");
    told
}

fn manifest(cases: &BTreeMap<String, PathBuf>) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = here.parent().unwrap();
    let (inbox, ui_tests) = (workspace.join("inbox"), here);
    let mut manifest = format!(
        "[package]\nname = \"cases\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\ninbox = {{ package = \"transactional-inbox\", path = {inbox:?} }}\n\
         ui-tests = {{ path = {ui_tests:?} }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n"
    );
    for (name, path) in cases {
        write!(manifest, "\n[[bin]]\nname = {name:?}\npath = {path:?}\n").unwrap();
    }
    manifest
}
