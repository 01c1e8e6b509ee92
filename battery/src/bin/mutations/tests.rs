//! Runs tests of the copy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};

use battery::Result;
use battery::mutations::{Mutation, Test};

use crate::scratch::Scratch;

/// Without a safeguard a test may wait for ever.
const LIMITS: &str = "[profile.default]
slow-timeout = { period = \"60s\", terminate-after = 1 }
";

/// What nextest exits with where a test failed, and where there was none:
/// <https://docs.rs/nextest-metadata/latest/nextest_metadata/enum.NextestExitCode.html>.
const TEST_FAILED: i32 = 100;
const NO_TESTS: i32 = 4;

pub(crate) enum Answer {
    Passed,
    /// Their names.
    Failed(BTreeSet<String>),
    /// The tests were not run.
    Broken(String),
}

/// All that are named, with every safeguard in its place.
pub(crate) fn baseline(scratch: &Scratch, mutations: &[Mutation]) -> Result<()> {
    let mut targets: BTreeMap<_, Vec<Test>> = BTreeMap::new();
    for Test { package, target, name } in mutations.iter().map(|mutation| mutation.noticed_by) {
        targets.entry((package, target)).or_default().push(Test { package, target, name });
    }
    for (target, tests) in targets {
        match run(scratch, &tests)? {
            Answer::Passed => {}
            Answer::Failed(tests) => {
                return Err(format!("failed as it is: {tests:?}").into());
            }
            Answer::Broken(why) => return Err(format!("{target:?}: {why}").into()),
        }
    }
    Ok(())
}

/// Tests of one target.
pub(crate) fn run(scratch: &Scratch, tests: &[Test]) -> Result<Answer> {
    let [Test { package, target, .. }, ..] = tests else { return Err("no tests".into()) };
    let limits = scratch.target().with_file_name("nextest.toml");
    fs::write(&limits, LIMITS)?;
    let mut command = Command::new("cargo");
    command.args(["nextest", "run", "--all-features", "--locked", "--color", "never"]);
    command.args(["--package", package]).arg("--config-file").arg(limits);
    match target {
        Some(target) => command.args(["--test", target]),
        None => command.arg("--lib"),
    };
    let names: Vec<&str> = tests.iter().map(|test| test.name).collect();
    command.arg("-E").arg(format!("test(/(^|::)({})$/)", names.join("|")));
    command.current_dir(scratch.tree()).env("CARGO_TARGET_DIR", scratch.target());
    command.env("RUST_BACKTRACE", "0").env_remove("CARGO_MANIFEST_DIR").stdin(Stdio::null());
    let ended = command.output()?;
    let text = String::from_utf8_lossy(&ended.stderr);
    Ok(match ended.status.code() {
        Some(0) => Answer::Passed,
        Some(TEST_FAILED) => Answer::Failed(failed(&text)),
        Some(NO_TESTS) => Answer::Broken(format!("there is no test {}", names.join(", "))),
        _ => Answer::Broken(format!("it does not build, or nextest fails:\n{}", last(&text))),
    })
}

/// nextest's lines `FAIL [ 0.012s] (1/3) package::target module::test`, and the like.
fn failed(text: &str) -> BTreeSet<String> {
    let is_bad =
        |word: &str| ["FAIL", "TIMEOUT", "ABORT"].contains(&word) || word.starts_with("SIG");
    let bad = text.lines().filter(|line| line.split_whitespace().next().is_some_and(is_bad));
    let names = bad.filter_map(|line| line.split_whitespace().last()?.rsplit("::").next());
    names.map(str::to_owned).collect()
}

fn last(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
