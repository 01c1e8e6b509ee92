//! A database of one test, a store on it, and a handler that does what its message says.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::poll_fn;
use inbox::{
    DecodeError, Delivery, Envelope, Handler, HandlerFuture, HandlerRegistration, Inbox,
    InboxBuilder, IntegrationEvent, State,
};
use inbox_postgres::{PgInboxStore, PgTx};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Executor, PgPool};
use test_servers::postgres::{Server, TestDatabase};
use tokio::sync::Notify;
use uuid::Uuid;

pub(crate) const CONSUMER: &str = "postgres-tests";

/// The signals between a test and its handler.
#[derive(Clone, Default)]
pub(crate) struct Signals {
    pub(crate) starts: Arc<AtomicU32>,
    pub(crate) started: Arc<Notify>,
    pub(crate) go: Arc<Notify>,
}

impl Signals {
    pub(crate) fn starts(&self) -> u32 {
        self.starts.load(Ordering::SeqCst)
    }
}

/// A message whose payload is SQL, run statement by statement; `wait` waits for the test's signal.
pub(crate) struct Script(String);

impl Script {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl IntegrationEvent for Script {
    const EVENT_TYPE: &'static str = "tests.script.v1";
    fn decode(envelope: &Envelope) -> Result<Self, DecodeError> {
        let text = std::str::from_utf8(envelope.payload());
        text.map(|text| Self(text.to_owned())).map_err(|_| DecodeError::new("not text"))
    }
}

pub(crate) struct Run;

impl Handler for Run {
    type Event = Script;

    fn call<'a>(event: Script, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async move {
            let mut tx: PgTx<'_> = delivery.extract()?;
            let State(signals): State<Signals> = delivery.extract()?;
            signals.starts.fetch_add(1, Ordering::SeqCst);
            signals.started.notify_one();
            for statement in event.0.split(';').map(str::trim).filter(|text| !text.is_empty()) {
                match statement {
                    "wait" => signals.go.notified().await,
                    "fail" => return Err("the script says so".into()),
                    sql => tx
                        .execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned())))
                        .await
                        .map(|_| ())?,
                }
            }
            Ok(())
        })
    }
}

pub(crate) fn message(script: &str) -> Envelope {
    Envelope::new(Uuid::now_v7(), Script::EVENT_TYPE, script)
}

pub(crate) struct Bed {
    pub(crate) pool: PgPool,
    pub(crate) database: TestDatabase,
    pub(crate) signals: Signals,
}

impl Bed {
    pub(crate) async fn new() -> Self {
        Self::with(|pool| pool.max_connections(4), |session| session).await
    }

    /// With the pool's options and the session's settings as the test wants them.
    pub(crate) async fn with(
        pool: impl FnOnce(PgPoolOptions) -> PgPoolOptions,
        session: impl FnOnce(PgConnectOptions) -> PgConnectOptions,
    ) -> Self {
        Self::on(&Server::shared().await.unwrap(), pool, session).await
    }

    pub(crate) async fn on(
        server: &Server,
        pool: impl FnOnce(PgPoolOptions) -> PgPoolOptions,
        session: impl FnOnce(PgConnectOptions) -> PgConnectOptions,
    ) -> Self {
        let database = server.create_database().await.unwrap();
        let session = session(database.url().parse().unwrap());
        let pool = pool(PgPoolOptions::new()).connect_with(session).await.unwrap();
        let bed = Self { pool, database, signals: Signals::default() };
        bed.run("CREATE TABLE effects (key text)").await;
        bed.store().migrate().await.unwrap();
        bed
    }

    pub(crate) fn store(&self) -> PgInboxStore {
        store(self.pool.clone())
    }

    pub(crate) fn builder(&self) -> InboxBuilder<PgInboxStore> {
        inbox_on(self.pool.clone(), self.signals.clone())
    }

    pub(crate) async fn inbox(&self) -> Inbox<PgInboxStore> {
        self.builder().build().await.unwrap()
    }

    pub(crate) async fn run(&self, sql: &str) {
        self.pool.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await.unwrap();
    }

    pub(crate) async fn number(&self, sql: &str) -> i64 {
        // In a transaction: a pooler may send the two halves of an unnamed statement to two servers.
        let mut tx = self.pool.begin().await.unwrap();
        let query = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).persistent(false);
        let number = query.fetch_one(&mut *tx).await.unwrap();
        tx.rollback().await.unwrap();
        number
    }

    pub(crate) async fn effects(&self) -> i64 {
        self.number("SELECT count(*) FROM effects").await
    }

    pub(crate) async fn rows(&self) -> i64 {
        self.number("SELECT count(*) FROM inbox.messages").await
    }

    /// Sessions of this database that sit in a transaction, seen from outside of the pool.
    pub(crate) async fn idle_in_transaction(&self) -> i64 {
        let sql = "SELECT count(*) FROM pg_stat_activity \
                   WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
        self.outside(sql).await
    }

    /// A number read through a connection that is not the pool's.
    pub(crate) async fn outside(&self, sql: &str) -> i64 {
        use sqlx::Connection as _;
        let mut connection = sqlx::PgConnection::connect(self.database.direct_url()).await.unwrap();
        let query = sqlx::query_scalar(AssertSqlSafe(sql.to_owned()));
        query.fetch_one(&mut connection).await.unwrap()
    }
}

/// Behind a PgBouncer that does not follow named statements where the run goes through one.
pub(crate) fn store(pool: PgPool) -> PgInboxStore {
    let store = PgInboxStore::new(pool).accept_fsync_off();
    if through_a_pooler() { store.without_named_statements() } else { store }
}

/// Whether this run goes through PgBouncer.
pub(crate) fn through_a_pooler() -> bool {
    std::env::var("INBOX_TEST_THROUGH").is_ok_and(|through| !through.is_empty())
}

/// Waits until a condition holds, asking again every few milliseconds.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let patience = tokio::time::timeout(Duration::from_secs(20), async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    patience.await.unwrap_or_else(|_| panic!("never came to be: {what}"));
}

pub(crate) fn inbox_on(pool: PgPool, signals: Signals) -> InboxBuilder<PgInboxStore> {
    inbox_with(store(pool), signals)
}

pub(crate) fn inbox_with(store: PgInboxStore, signals: Signals) -> InboxBuilder<PgInboxStore> {
    Inbox::builder()
        .store(store)
        .state(signals)
        .register(HandlerRegistration::new::<Run>(CONSUMER, "run"))
}

/// Polls a future `polls` times at most, then does `last` and drops it.
pub(crate) async fn abort_after<F: Future>(
    future: F,
    polls: u32,
    last: impl Fn(),
) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            last();
            return Poll::Ready(None);
        }
        left -= 1;
        let polled = future.as_mut().poll(context).map(Some);
        if polled.is_pending() && left == 0 {
            context.waker().wake_by_ref(); // die where it stopped, not when it would go on
        }
        polled
    })
    .await
}
