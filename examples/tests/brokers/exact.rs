//! What the examples on brokers print.

use std::process::{Command, Output, Stdio};

use crate::built;

pub(crate) fn run(example: &str, arguments: &[&str]) -> Output {
    Command::new(built::example(example)).args(arguments).stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn assert_exact(output: &Output) {
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let expected = "published            26\n  processed          20\n  skipped duplicates 5\n  \
                    dead letters       1\npieces reserved      39 of 39\nexact\n";
    assert_eq!(stdout, expected, "{stderr}");
    assert!(output.status.success());
    let told = |what: &str| stderr.lines().filter(|line| line.contains(what)).count();
    assert_eq!(told("a message is acknowledged"), 25, "{stderr}");
    assert_eq!(told("outcome=skipped duplicate"), 5, "{stderr}");
    assert_eq!(told("a message was put away as a dead letter"), 1, "{stderr}");
}
