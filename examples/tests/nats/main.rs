//! The `nats` example as its users see it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::process::{Command, Output, Stdio};

use test_servers::nats::NatsServer;

#[path = "../orders/built.rs"]
mod built;

fn run(arguments: &[&str]) -> Output {
    Command::new(built::example("nats")).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn assert_exact(output: &Output) {
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

#[test]
fn on_a_throwaway_server_each_order_takes_effect_once() {
    assert_exact(&run(&[]));
}

#[tokio::test]
async fn on_a_server_that_is_there_it_leaves_nothing_behind_and_runs_again() {
    let server = NatsServer::start().await.unwrap();
    for _ in 0..2 {
        let url = server.url();
        assert_exact(&tokio::task::spawn_blocking(move || run(&["--url", &url])).await.unwrap());
    }
}
