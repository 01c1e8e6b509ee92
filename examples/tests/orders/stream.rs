//! The stream itself: blank lines, line ends, lines without an end, and streams without one.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::input::{cancelled, received};
use crate::program::{apply, orders, run};

#[test]
fn blank_lines_are_not_counted_and_keep_their_numbers() {
    let input = format!("\n  \n{}\n\n\t\r\n{}\n\n", received("1", "tea", 1), cancelled("2", "a"));
    let ended = apply(input, None);
    assert_eq!(ended.counts(), [2, 1, 0, 1, 0]);
    assert_eq!(ended.problems()[0].0, 6);
}

#[test]
fn line_ends_of_windows_and_a_byte_order_mark_are_no_part_of_a_line() {
    let lines = [received("1", "tea", 1), received("2", "tea", 1), received("2", "tea", 1)];
    let ended = apply(format!("\u{feff}{}\r\n", lines.join("\r\n")), None);
    assert_eq!((ended.code, ended.counts()), (Some(0), [3, 2, 1, 0, 0]), "{}", ended.stderr);
}

#[test]
fn an_empty_stream_is_no_failure() {
    for empty in ["", "\n", "\n \n\n"] {
        let ended = apply(empty, None);
        assert_eq!((ended.code, ended.counts()), (Some(0), [0, 0, 0, 0, 0]), "{empty:?}");
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("empty.jsonl");
    std::fs::write(&file, "").unwrap();
    let ended = run([file.as_os_str(), "--json".as_ref()]);
    assert_eq!((ended.code, ended.counts()), (Some(0), [0, 0, 0, 0, 0]));
}

#[test]
fn a_payload_over_the_limit_is_rejected_and_one_below_it_is_not() {
    let size = |bytes: usize| received("1", &"x".repeat(bytes), 1);
    let ended = apply(size(1_000_000), None);
    assert_eq!(ended.counts(), [1, 1, 0, 0, 0], "{}", ended.stderr);
    let ended = apply(size(1 << 20), None);
    assert_eq!(ended.counts(), [1, 0, 0, 0, 1]);
    assert!(ended.problems()[0].1.contains("the limit is 1048576"), "{:?}", ended.problems());
}

/// The program answers while the stream goes on, so it does not gather it first; and what it kept
/// of an endless line is told by the system's own books.
#[cfg(target_os = "linux")]
#[test]
fn a_line_without_end_is_rejected_in_bounded_memory_while_the_stream_goes_on() {
    let pipes = [Stdio::piped(), Stdio::piped(), Stdio::piped()];
    let [stdin, stdout, stderr] = pipes;
    let mut command = orders();
    command.args(["-", "--json"]).stdin(stdin).stdout(stdout).stderr(stderr);
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);

    let megabyte = vec![b'x'; 1 << 20];
    for _ in 0..128 {
        stdin.write_all(&megabyte).unwrap();
    }
    stdin
        .write_all(format!("\n{}\n{}\n", cancelled("1", "a"), received("2", "a", 1)).as_bytes())
        .unwrap();
    let mut reported = told.by_ref().filter(|line| line.starts_with("line "));
    assert!(reported.next().unwrap().starts_with("line 1: invalid envelope: the line is longer"));
    assert!(reported.next().unwrap().starts_with("line 2: handler `release_stock` failed"));
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 64 << 10, "{kilobytes} kB for a line of 128 MiB");

    drop(stdin);
    let ended = crate::program::Ended::from(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.counts()), (Some(1), [3, 1, 0, 1, 1]));
}
