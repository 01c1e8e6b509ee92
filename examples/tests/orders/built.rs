//! Finding a built example.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Cargo tells tests the path of a binary and not that of an example, and builds examples with
/// `cargo test` but not with `cargo test --test orders`.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap(); // target/debug/deps/orders-…
    let built = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !is_current(&built) {
        build(name, profile);
    }
    built
}

/// Whether the program is younger than every file it was made of, which Cargo lists beside it.
fn is_current(program: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
    let Ok(built) = changed(program) else { return false };
    let Ok(list) = fs::read_to_string(program.with_extension("d")) else { return false };
    let files = list.split_once(": ").map_or("", |(_, files)| files);
    files
        .replace("\\ ", "\0")
        .split_whitespace()
        .map(|file| changed(Path::new(&file.replace('\0', " "))).unwrap_or(SystemTime::now()))
        .all(|source| source <= built)
}

fn build(example: &str, profile: &Path) {
    let name = match profile.file_name().and_then(OsStr::to_str).unwrap() {
        "debug" => "dev",
        other => other,
    };
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--workspace", "--all-features", "--example", example])
        .args(["--profile", name, "--target-dir"])
        .arg(profile.parent().unwrap())
        .status()
        .unwrap();
    assert!(built.success(), "the example does not build");
}
