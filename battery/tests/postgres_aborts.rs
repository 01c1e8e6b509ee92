//! Dispatches are dropped wherever they are, thousands of times, on a pool of one connection.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints its counts"
)]

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use battery::{CONSUMERS, Form, Ledger, Message, Stage, Way, inbox_on, store_on, through_a_pooler};
use inbox::{DispatchError, DispatchErrorKind, Inbox, Outcome};
use inbox_postgres::PgInboxStore;
use sqlx::postgres::PgPoolOptions;
use tokio::sync::Mutex;

/// Dropped dispatches between two looks at the server.
const ROUND: usize = 25;

type Answer = Result<Outcome, DispatchError>;

/// Which delivery is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    New,
    Failing,
    Duplicate,
}

#[derive(Debug, Default)]
struct Tally {
    dropped: usize,
    /// Dropped deliveries of new messages that had come through all the same.
    durable: usize,
    /// Those that had not, and were processed when they were delivered again.
    undone: usize,
    came_through: usize,
}

/// Everything on one connection.
struct Lane {
    stage: Stage,
    inbox: Inbox<PgInboxStore>,
    through_workers: bool,
    /// What its sessions are called.
    name: String,
    tally: Tally,
    /// Those that are to take effect exactly once.
    published: Vec<Message>,
}

impl Lane {
    async fn new(through_workers: bool) -> Self {
        let stage = Stage::new().await.unwrap();
        let name = format!("aborts-{}", uuid::Uuid::now_v7().simple());
        let url = format!("{}?application_name={name}", stage.url());
        let pool = PgPoolOptions::new().max_connections(1).connect(&url).await.unwrap();
        let inbox = inbox_on(store_on(pool), Ledger::default(), Duration::from_secs(10)).build();
        let inbox = inbox.await.unwrap();
        Self { stage, inbox, through_workers, name, tally: Tally::default(), published: vec![] }
    }

    fn way(&self) -> Way<PgInboxStore> {
        let consumer = self.inbox.consumer(CONSUMERS[0]).unwrap();
        if self.through_workers { Way::Held(consumer.worker()) } else { Way::Plain(consumer) }
    }

    async fn round(&mut self) {
        let way = Arc::new(Mutex::new(self.way()));
        let (mut dropped, mut later) = (0, Vec::new());
        while dropped < ROUND {
            let (victim, one) = self.victim(&way).await;
            match aborted(&way, one).await {
                Some(answer) => {
                    judge(victim, one, &answer);
                    self.tally.came_through += 1;
                }
                None if fastrand::bool() => {
                    dropped += 1;
                    self.redeliver(&way, victim, one).await;
                }
                None => {
                    dropped += 1;
                    later.push((victim, one));
                    self.next_works(&way).await;
                }
            }
        }
        self.tally.dropped += dropped;
        for (victim, one) in later {
            self.redeliver(&way, victim, one).await;
        }
        drop(way); // a worker rests in an empty transaction
        self.nothing_lingers().await;
    }

    /// A message whose next delivery is to be dropped.
    async fn victim(&mut self, way: &Mutex<Way<PgInboxStore>>) -> (Victim, Message) {
        match fastrand::u8(0..10) {
            0 => (Victim::Failing, Message::failing()),
            1 => (Victim::Duplicate, self.next_works(way).await),
            other => {
                let nap = if other == 2 { 0.003 * fastrand::f64() } else { 0.0 };
                let one = Message { nap, ..Message::new() };
                self.published.push(one);
                (Victim::New, one)
            }
        }
    }

    /// What a connection carried on from the dropped dispatch would be committed by this one.
    async fn next_works(&mut self, way: &Mutex<Way<PgInboxStore>>) -> Message {
        let next = Message::new();
        self.published.push(next);
        assert_eq!(way.lock().await.deliver(next).await.unwrap(), Outcome::Processed);
        next
    }

    async fn redeliver(&mut self, way: &Mutex<Way<PgInboxStore>>, victim: Victim, one: Message) {
        let answer = way.lock().await.deliver(one).await;
        match (victim, &answer) {
            (Victim::New, Ok(Outcome::SkippedDuplicate)) => self.tally.durable += 1,
            (Victim::New, Ok(Outcome::Processed)) => self.tally.undone += 1,
            _ => judge(victim, one, &answer),
        }
    }

    /// Seen from the server: no session in a transaction, no lock of any kind, one session at most.
    /// A connection that was closed takes the server a moment to notice.
    async fn nothing_lingers(&self) {
        let sql = "SELECT count(*) FILTER (WHERE state <> 'idle'), count(*), \
                          (SELECT count(*) FROM pg_locks WHERE pid = ANY (array_agg(session.pid))) \
                   FROM pg_stat_activity AS session WHERE application_name = $1";
        let mut seen = (0, 0, 0);
        for _ in 0..3000 {
            let query = sqlx::query_as::<_, (i64, i64, i64)>(sql).bind(&self.name);
            seen = query.fetch_one(&self.stage.pool).await.unwrap();
            let (busy, sessions, locks) = seen;
            if (busy, locks) == (0, 0) && (sessions <= 1 || through_a_pooler()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("(busy, sessions, locks) stay {seen:?} after {:?}", self.tally);
    }
}

/// The answers to a whole delivery.
fn judge(victim: Victim, one: Message, answer: &Answer) {
    match (victim, answer) {
        (Victim::New, Ok(Outcome::Processed)) => {}
        (Victim::Duplicate, Ok(Outcome::SkippedDuplicate)) => {}
        (Victim::Failing, Err(error)) if error.kind() == DispatchErrorKind::Handler => {}
        _ => panic!("{victim:?} {one:?}: {answer:?}"),
    }
}

/// Delivers a message and drops that at any await, by count or by time; `None` where it was dropped.
async fn aborted(way: &Arc<Mutex<Way<PgInboxStore>>>, one: Message) -> Option<Answer> {
    if fastrand::bool() {
        return after_polls(fastrand::u32(1..12), way.lock().await.deliver(one)).await;
    }
    let own = Arc::clone(way);
    let running = tokio::spawn(async move { own.lock().await.deliver(one).await });
    let time = Duration::from_micros(fastrand::u64(0..5000)); // tokio's clock counts milliseconds
    tokio::task::spawn_blocking(move || std::thread::sleep(time)).await.unwrap();
    running.abort();
    match running.await {
        Ok(answer) => Some(answer),
        Err(error) if error.is_cancelled() => None,
        Err(error) => panic!("{error}"),
    }
}

async fn after_polls<F: Future>(polls: u32, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        let polled = future.as_mut().poll(context);
        left -= 1;
        if polled.is_pending() && left == 0 {
            return Poll::Ready(None);
        }
        polled.map(Some)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a5_dispatches_dropped_anywhere_on_a_pool_of_one_leave_nothing_behind() {
    let drops = Form::chosen().times(600, 10_000);
    let lanes =
        [false, true].map(|through_workers| tokio::spawn(drop_in_lane(through_workers, drops / 2)));
    let (mut durable, mut undone) = (0, 0);
    for lane in lanes {
        let tally = lane.await.unwrap();
        (durable, undone) = (durable + tally.durable, undone + tally.undone);
    }
    assert!(
        durable > 0 && undone > 0,
        "not all awaits were met: {durable} durable, {undone} undone"
    );
}

async fn drop_in_lane(through_workers: bool, drops: usize) -> Tally {
    let mut lane = Lane::new(through_workers).await;
    while lane.tally.dropped < drops {
        lane.round().await;
    }
    lane.stage.books.publish(&lane.published).await.unwrap();
    let proof = lane.stage.books.proof_of(&CONSUMERS[..1]).await.unwrap();
    println!("through workers: {through_workers}, {:?}\n{proof}", lane.tally);
    assert!(proof.is_exact(), "{proof}");
    lane.tally
}
