//! Processes that consume side by side.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::timeout;

const PROCESSES: usize = 4;

pub(crate) struct Consumers {
    arguments: Vec<String>,
    running: Vec<Child>,
}

impl Consumers {
    /// The arguments are those of `battery-subscriber`.
    pub(crate) fn start(arguments: Vec<String>) -> Self {
        let running = (0..PROCESSES).map(|_| consumer(&arguments)).collect();
        Self { arguments, running }
    }

    /// One dies, and is replaced.
    pub(crate) async fn kill_one(&mut self) {
        let dying = &mut self.running[fastrand::usize(0..PROCESSES)];
        let mut dying = std::mem::replace(dying, consumer(&self.arguments));
        assert!(dying.try_wait().unwrap().is_none(), "a consumer ended by itself");
        dying.kill().await.unwrap();
    }

    /// They finish what they have, and end.
    pub(crate) async fn end(&mut self) {
        for mut consumer in self.running.drain(..) {
            drop(consumer.stdin.take());
            let ended = timeout(Duration::from_secs(30), consumer.wait()).await;
            assert!(ended.expect("it ends").unwrap().success(), "a consumer failed");
        }
    }
}

fn consumer(arguments: &[String]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_battery-subscriber"));
    command.args(arguments).stdin(Stdio::piped()).kill_on_drop(true).spawn().unwrap()
}
