//! A test that no store runs is found here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "all of it is tests")]

use std::fs;
use std::path::Path;

#[test]
fn every_test_of_the_suite_is_listed_in_the_macro() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let list = fs::read_to_string(source.join("suite.rs")).unwrap();
    let mut found = 0;
    for folder in ["rows", "cases"] {
        for entry in fs::read_dir(source.join(folder)).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            for after in text.split("\npub async fn ").skip(1) {
                let name = after.split('<').next().unwrap();
                assert!(list.contains(&format!(" {name},\n")), "{name} is not in suite.rs");
                found += 1;
            }
        }
    }
    assert!(found > 50, "only {found} tests were found");
}
