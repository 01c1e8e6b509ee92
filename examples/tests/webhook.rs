//! The example `webhook` as a process: what it prints is what happened.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "all of it is tests")]

use std::process::Command;

#[path = "orders/built.rs"]
mod built;

#[test]
fn webhooks_are_applied_exactly_once_and_forgeries_are_refused() {
    let output = Command::new(built::example("webhook")).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    let answered = |delivery: &str| {
        let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
        let rows = printed.lines().map(cells);
        let of_it: Vec<Vec<String>> = rows
            .filter(|row: &Vec<String>| row.get(1).is_some_and(|cell| cell == delivery))
            .collect();
        let [row] =
            of_it.try_into().unwrap_or_else(|rows| panic!("{delivery}: {rows:?}\n{printed}"));
        (row[2].clone(), row[3].clone())
    };
    for (delivery, status, body) in [
        ("GitHub", "200", "processed"),
        ("GitHub, redelivered", "200", "skipped duplicate"),
        ("Stripe", "200", "processed"),
        ("Stripe, redelivered", "200", "skipped duplicate"),
        ("shop", "200", "processed"),
        ("shop, redelivered", "200", "skipped duplicate"),
        ("shop, forged", "401", "the signature does not fit"),
        ("shop, fails at first", "503", "Handler"),
        ("shop, tried again", "200", "processed"),
    ] {
        assert_eq!(answered(delivery), (status.to_owned(), body.to_owned()), "{delivery}");
    }
    assert_eq!(answered("shop, sent again after hanging up").0, "200");
    for line in ["github: 1 payments", "shop: 3 payments", "stripe: 1 payments"] {
        assert!(printed.contains(line), "{printed}");
    }
    assert!(printed.trim_end().ends_with("every delivery was applied exactly once"), "{printed}");
}
