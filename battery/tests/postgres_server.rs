//! The server is killed or shut down under load, and recovers.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints its counts"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use battery::{CONSUMERS, Form, Ledger, Message, Stage, Way, inbox_on, store_on, through_a_pooler};
use inbox::{DispatchErrorKind, Inbox, Outcome};
use inbox_postgres::PgInboxStore;
use sqlx::postgres::PgPoolOptions;
use test_servers::postgres::{Cluster, Options, Shutdown};
use tokio::task::JoinSet;

/// Tasks that deliver, half of them through workers.
const TASKS: usize = 8;
/// Answers `Ok` between two ends of the server.
const PROGRESS: u64 = 60;

#[derive(Clone, Copy, Debug)]
enum End {
    Kill9,
    Immediate,
    Fast,
}

/// What the tasks share with the test.
#[derive(Default)]
struct Load {
    stop: AtomicBool,
    settled: AtomicU64,
}

/// What one task has delivered, and how it was answered on the way.
#[derive(Default)]
struct Report {
    delivered: Vec<Message>,
    answers: BTreeMap<String, usize>,
}

impl Report {
    /// Until it is answered `Ok`, and never again: what is lost after that stays lost, and is found.
    async fn settle(&mut self, way: &mut Way<PgInboxStore>, one: Message) {
        loop {
            match way.deliver(one).await {
                Ok(outcome) => {
                    assert_ne!(outcome, Outcome::Ignored);
                    return self.count(outcome.to_string());
                }
                Err(error) => {
                    assert!(error.is_transient(), "{error:?}");
                    assert!(is_the_servers(error.kind()), "{error:?}");
                    self.count(format!("{:?}", error.kind()));
                    tokio::time::sleep(Duration::from_millis(20)).await; // a transport would wait longer
                }
            }
        }
    }

    fn count(&mut self, answer: String) {
        *self.answers.entry(answer).or_insert(0) += 1;
    }
}

fn is_the_servers(kind: DispatchErrorKind) -> bool {
    use DispatchErrorKind as Kind;
    matches!(kind, Kind::Store | Kind::Handler | Kind::CommitUnknown | Kind::InFlight)
}

async fn deliver_all(inbox: Inbox<PgInboxStore>, load: Arc<Load>, number: usize) -> Report {
    let mut report = Report::default();
    let mut ways = CONSUMERS.map(|name| {
        let consumer = inbox.consumer(name).unwrap();
        if number.is_multiple_of(2) { Way::Plain(consumer) } else { Way::Held(consumer.worker()) }
    });
    while !load.stop.load(Ordering::SeqCst) {
        let one = Message::new();
        for way in &mut ways {
            report.settle(way, one).await;
        }
        report.delivered.push(one);
        load.settled.fetch_add(1, Ordering::SeqCst);
    }
    report
}

async fn progress(load: &Load) {
    let target = load.settled.load(Ordering::SeqCst) + PROGRESS;
    let patience = tokio::time::timeout(Duration::from_secs(60), async {
        while load.settled.load(Ordering::SeqCst) < target {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    patience.await.unwrap_or_else(|_| panic!("nothing is processed any more"));
    // Anywhere in the messages that are on their way.
    tokio::time::sleep(Duration::from_micros(fastrand::u64(0..30_000))).await;
}

async fn end(cluster: &mut Cluster, how: End) {
    match how {
        End::Kill9 => cluster.kill9().await.unwrap(),
        End::Immediate => cluster.stop(Shutdown::Immediate).await.unwrap(),
        End::Fast => cluster.stop(Shutdown::Fast).await.unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_under_load_loses_and_doubles_nothing() {
    if through_a_pooler() {
        return; // a server of its own, without one
    }
    let mut cluster = Cluster::start(Options::default().durable()).await.unwrap();
    let stage = Stage::on(cluster.server()).await.unwrap();
    let options = PgPoolOptions::new().max_connections(10).acquire_timeout(Duration::from_secs(2));
    let pool = options.connect(stage.url()).await.unwrap();
    let inbox =
        inbox_on(store_on(pool), Ledger::default(), Duration::from_secs(10)).build().await.unwrap();
    let load = Arc::new(Load::default());
    let mut tasks = JoinSet::new();
    for number in 0..TASKS {
        tasks.spawn(deliver_all(inbox.clone(), Arc::clone(&load), number));
    }
    let rounds = Form::chosen().times(2, 12);
    for how in [End::Kill9, End::Immediate, End::Fast].repeat(rounds) {
        progress(&load).await;
        end(&mut cluster, how).await;
        cluster.restart().await.unwrap();
    }
    progress(&load).await;
    load.stop.store(true, Ordering::SeqCst);
    conclude(&stage, tasks.join_all().await, 3 * rounds).await;
}

async fn conclude(stage: &Stage, reports: Vec<Report>, ends: usize) {
    let mut answers = BTreeMap::new();
    for report in reports {
        stage.books.publish(&report.delivered).await.unwrap();
        for (answer, count) in report.answers {
            *answers.entry(answer).or_insert(0) += count;
        }
    }
    let proof = stage.books.proof().await.unwrap();
    println!("{ends} ends of the server; answers: {answers:?}\n{proof}");
    assert!(proof.is_exact(), "{proof}");
    assert!(answers.len() > 2, "the ends were noticed: {answers:?}");
}
