//! A message is delivered many times at once, over several processes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::Stdio;

use battery::{CONSUMERS, Form, Message, Stage};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

const PROCESSES: usize = 4;
/// Sixteen of each process, over four connections of each.
const DELIVERIES: u64 = 64;
/// Longer than a twin waits for another: some are told `InFlight`.
const NAP: f64 = 0.1;

struct Twins {
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Twins {
    async fn started(stage: &Stage) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_battery-twins"));
        command.arg(stage.url()).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut twins = Self { stdin: child.stdin.take().unwrap(), lines, _child: child };
        assert_eq!(twins.line().await, "ready");
        twins
    }

    async fn line(&mut self) -> String {
        self.lines.next_line().await.unwrap().unwrap_or_else(|| panic!("the process ended"))
    }

    async fn deliver(&mut self, message: Message) {
        let line = format!("{} {}\n", message.id, message.nap);
        self.stdin.write_all(line.as_bytes()).await.unwrap();
    }

    /// Processed, skipped, in flight, other errors, starts of the first and of the second handler.
    async fn answers(&mut self) -> [u64; 6] {
        let line = self.line().await;
        let counts: Vec<u64> = line.split(' ').map(|count| count.parse().unwrap()).collect();
        counts.try_into().unwrap()
    }
}

/// All deliveries of one message at once.
async fn storm(processes: &mut [Twins], message: Message) -> [u64; 6] {
    for twins in processes.iter_mut() {
        twins.deliver(message).await;
    }
    let mut all = [0; 6];
    for twins in processes.iter_mut() {
        for (sum, count) in all.iter_mut().zip(twins.answers().await) {
            *sum += count;
        }
    }
    all
}

#[tokio::test]
async fn of_many_twins_at_once_one_starts_the_handlers() {
    let stage = Stage::new().await.unwrap();
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        processes.push(Twins::started(&stage).await);
    }
    let count = Form::chosen().times(100, 1000);
    let messages: Vec<Message> = (0..count)
        .map(|number| Message { nap: if number % 8 == 7 { NAP } else { 0.0 }, ..Message::new() })
        .collect();
    stage.books.publish(&messages).await.unwrap();
    let (mut skipped, mut in_flight) = (0, 0);
    for message in messages.iter().copied() {
        let [processed, duplicates, held, other, first, second] =
            storm(&mut processes, message).await;
        assert_eq!((processed, other, first, second), (1, 0, 1, 1), "{message:?}");
        assert_eq!(duplicates + held, DELIVERIES - 1, "{message:?}");
        (skipped, in_flight) = (skipped + duplicates, in_flight + held);
    }
    let again = storm(&mut processes, messages[0]).await;
    assert_eq!(again, [0, DELIVERIES, 0, 0, 0, 0]);
    let proof = stage.books.proof_of(&CONSUMERS[..1]).await.unwrap();
    println!("{count} messages, {skipped} deliveries skipped, {in_flight} told InFlight\n{proof}");
    assert!(proof.is_exact() && proof.messages() == count as i64, "{proof}");
    assert!(skipped > 0 && in_flight > 0, "both answers are given");
}
