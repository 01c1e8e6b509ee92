//! Running the program.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Row};

use crate::built::example;

pub(crate) fn orders() -> Command {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    Command::new(PATH.get_or_init(|| example("orders")))
}

/// How the program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        Self { code: output.status.code(), stdout, stderr }
    }
}

impl Ended {
    /// The counts that `--json` printed, in the order delivered, processed, skipped, failed,
    /// rejected, and nothing else on stdout.
    pub(crate) fn counts(&self) -> [u64; 5] {
        let summary: Value = serde_json::from_str(&self.stdout).expect(&self.stdout);
        assert_eq!(summary.as_object().unwrap().len(), 5, "{summary}");
        ["delivered", "processed", "skipped", "failed", "rejected"]
            .map(|name| summary[name].as_u64().expect(name))
    }

    /// The numbers of the lines reported on stderr, with their reasons.
    pub(crate) fn problems(&self) -> Vec<(u64, &str)> {
        let problem = |line| {
            let (number, reason) = str::strip_prefix(line, "line ")?.split_once(": ")?;
            Some((number.parse().ok()?, reason))
        };
        self.stderr.lines().filter_map(problem).collect()
    }
}

pub(crate) fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Ended {
    orders().args(arguments).stdin(Stdio::null()).output().unwrap().into()
}

/// `orders - --json` on `input`, with a database where one is given.
pub(crate) fn apply(input: impl AsRef<[u8]>, db: Option<&Path>) -> Ended {
    let mut command = orders();
    command.args(["-", "--json"]);
    if let Some(db) = db {
        command.arg("--db").arg(db);
    }
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    feed(pipes.spawn().unwrap(), input.as_ref().to_owned())
}

/// Gives a running program its input, and waits for its end.
pub(crate) fn feed(mut child: Child, input: Vec<u8>) -> Ended {
    let mut stdin = child.stdin.take().unwrap();
    // In a thread of its own: the program may fill its stderr before it has read everything.
    let feeding = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let ended = child.wait_with_output().unwrap();
    feeding.join().unwrap();
    ended.into()
}

/// The rows of `stock` and `orders` in a database file, as `tea 9 2` and `a tea 3 placed`.
pub(crate) async fn tables(db: &Path) -> (Vec<String>, Vec<String>) {
    let mut database = open(db).await;
    let stock = "SELECT concat_ws(' ', sku, on_hand, reserved) FROM stock ORDER BY sku";
    let orders =
        "SELECT concat_ws(' ', order_id, sku, quantity, status) FROM orders ORDER BY order_id";
    let mut read = Vec::new();
    for query in [stock, orders] {
        let rows = sqlx::query(query).fetch_all(&mut database).await.unwrap();
        read.push(rows.iter().map(|row| row.get(0)).collect());
    }
    (read.remove(0), read.remove(0))
}

pub(crate) async fn open(db: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(db).connect().await.unwrap()
}
