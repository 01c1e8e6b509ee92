//! Mistakes, and what a user reads about them.
//!
//! Where the text is ours, `fail/<mistake>/<case>.rs` has it word by word beside it, in
//! `<case>.stderr`; `UI_TESTS=overwrite` writes these files. Where only rustc can see the mistake, its
//! own words change from one version to the next: beside `fail-rustc/<mistake>/<case>.rs` lies
//! `<case>.expect`, with a paragraph for each error, a line in it for its place and for each
//! sentence of ours.
//!
//! One run of cargo compiles all cases of a folder, each a binary, and shares what it builds with the
//! workspace.

#![expect(clippy::unwrap_used, reason = "a test, also where its functions are no `#[test]`")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// The errors of a case, and what is wrong with them.
type Judge = fn(&Path, &[String]) -> Option<String>;

#[test]
fn every_mistake_that_we_see_is_told_in_our_words() {
    assert_told("fail", &on_the_inbox(), differs_from_its_text);
}

#[test]
fn every_mistake_that_rustc_sees_is_told_with_our_sentences() {
    assert_told("fail-rustc", &on_the_inbox(), misses_a_sentence);
}

#[test]
fn a_crate_without_the_inbox_is_told_to_depend_on_it_or_to_say_where_it_is() {
    let renamed = here().join("renamed");
    let dependencies = format!("ui-tests-renamed = {{ path = {renamed:?} }}\n");
    assert_told("fail-behind", &dependencies, differs_from_its_text);
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn on_the_inbox() -> String {
    let inbox = here().parent().unwrap().join("inbox");
    format!(
        "inbox = {{ package = \"transactional-inbox\", path = {inbox:?} }}\n\
         ui-tests = {{ path = {:?} }}\n",
        here()
    )
}

/// Asserts that each case of a folder, in a package with these dependencies, is told as it should.
fn assert_told(folder: &str, dependencies: &str, judge: Judge) {
    let cases = cases(&here().join(folder));
    let told = told(folder, &cases, dependencies);
    let mut problems = String::new();
    for (name, path) in &cases {
        let errors = told.get(name).map_or(&[][..], Vec::as_slice);
        if let Some(problem) = judge(path, errors) {
            let told = errors.join("\n");
            writeln!(problems, "{}: {problem}\n{told}\n", path.display()).unwrap();
        }
    }
    assert!(problems.is_empty(), "\n{problems}");
}

fn differs_from_its_text(case: &Path, errors: &[String]) -> Option<String> {
    let golden = case.with_extension("stderr");
    let told = errors.join("\n");
    if env::var("UI_TESTS").is_ok_and(|wish| wish == "overwrite") {
        fs::write(&golden, &told).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    (told.is_empty() || told != expected).then(|| format!("this is expected:\n{expected}\nand not"))
}

fn misses_a_sentence(case: &Path, errors: &[String]) -> Option<String> {
    let expected = fs::read_to_string(case.with_extension("expect")).unwrap();
    let expected: Vec<Vec<&str>> =
        expected.split("\n\n").map(|error| error.lines().collect()).collect();
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

/// The errors of each case.
fn told(
    folder: &str,
    cases: &BTreeMap<String, PathBuf>,
    dependencies: &str,
) -> BTreeMap<String, Vec<String>> {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let package = temporary.join(folder);
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("Cargo.toml"), manifest(folder, cases, dependencies)).unwrap();
    fs::copy(here().parent().unwrap().join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    let output = Command::new(env::var_os("CARGO").unwrap())
        .current_dir(&package)
        .args(["check", "--bins", "--keep-going", "--offline", "--quiet"])
        .args(["--color=never", "--message-format=json"])
        .env("CARGO_TARGET_DIR", temporary.parent().unwrap())
        .env_remove("RUSTFLAGS")
        // With it, rustc repeats an error whose copy it would else leave out. A terminal shows it
        // once either way, because cargo leaves it out too; this reads behind cargo.
        .env("CARGO_INCREMENTAL", "0")
        .output()
        .unwrap();
    let mut told = BTreeMap::<String, Vec<String>>::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if let (Some(target), Some(error)) = (line["target"]["name"].as_str(), error(&line)) {
            told.entry(target.to_owned()).or_default().push(error);
        }
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!told.is_empty(), "cargo said nothing about the cases: {said}");
    told
}

/// What is shown of a message from rustc, if it is an error. The last one of each case, "aborting due
/// to 2 previous errors", stands nowhere and is not shown.
fn error(line: &Value) -> Option<String> {
    let message = &line["message"];
    let stands = message["spans"].as_array().is_some_and(|spans| !spans.is_empty());
    let is_error = message["level"] == "error" && stands;
    let text = message["rendered"].as_str().filter(|_| is_error)?;
    let text = text.trim_end().replace(&format!("{}/", here().display()), "");
    Some(format!("{text}\n"))
}

fn manifest(folder: &str, cases: &BTreeMap<String, PathBuf>, dependencies: &str) -> String {
    let mut manifest = format!(
        "[package]\nname = {folder:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [workspace]\n\n[profile.dev]\ndebug = \"line-tables-only\"\n\n\
         [dependencies]\n{dependencies}\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n"
    );
    for (name, path) in cases {
        write!(manifest, "\n[[bin]]\nname = {name:?}\npath = {path:?}\n").unwrap();
    }
    manifest
}
