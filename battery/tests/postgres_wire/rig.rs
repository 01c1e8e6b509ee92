//! A consumer whose wire can be hit.

use std::sync::Arc;
use std::time::Duration;

use battery::{CONSUMERS, Ledger, Message, Stage, inbox_on, message, store_on};
use inbox::{Consumer, DispatchError, Outcome, Worker};
use inbox_postgres::PgInboxStore;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use test_servers::proxy::Proxy;

use crate::case::{Fault, Scenario};

/// How long anything may take that is bound to come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A consumer behind a proxy of its own, in a database that it shares with other cases.
pub(crate) struct Rig {
    pub(crate) stage: Arc<Stage>,
    pub(crate) proxy: Proxy,
    pub(crate) pool: PgPool,
    pub(crate) consumer: Consumer<PgInboxStore>,
    pub(crate) worker: Worker<PgInboxStore>,
    /// What its sessions are called.
    pub(crate) name: String,
}

impl Rig {
    /// Only silences need limits that end them soon; a loaded machine may take its time with the rest.
    pub(crate) async fn new(stage: &Arc<Stage>, fault: Fault) -> Self {
        let proxy = Proxy::in_front_of(stage.url()).unwrap();
        let name = format!("wire-{}", uuid::Uuid::now_v7().simple());
        let url = format!("{}?application_name={name}", proxy.url_for(stage.url()).unwrap());
        let pool = PgPoolOptions::new().max_connections(3).connect(&url).await.unwrap();
        let (timeout, claim_wait, deadline) = match fault {
            Fault::Stall => (700, 300, 1800),
            Fault::Cut | Fault::Delay => (20_000, 10_000, 60_000),
        };
        let inbox =
            inbox_on(store_on(pool.clone()), Ledger::default(), Duration::from_millis(timeout))
                .claim_wait(Duration::from_millis(claim_wait))
                .deadline(Duration::from_millis(deadline))
                .build()
                .await
                .unwrap();
        let consumer = inbox.consumer(CONSUMERS[0]).unwrap();
        let worker = consumer.worker();
        Self { stage: Arc::clone(stage), proxy, pool, consumer, worker, name }
    }

    /// Up to where the messages begin that are to be hit.
    pub(crate) async fn prepare(&mut self, scenario: Scenario) -> Result<(), DispatchError> {
        self.rest_on_one().await;
        match scenario {
            Scenario::First => {}
            Scenario::Held => {
                let _ = self.worker.dispatch(&message(Message::new())).await?;
            }
            Scenario::Pooled => {
                let _ = self.consumer.dispatch(&message(Message::new())).await?;
                self.rest().await;
            }
        }
        Ok(())
    }

    /// Until every connection is back in the pool.
    pub(crate) async fn rest(&self) {
        let pool = &self.pool;
        until("the connections are back", async || pool.num_idle() == pool.size() as usize).await;
    }

    /// The same, and only one is left, so that all runs send the same messages.
    async fn rest_on_one(&self) {
        self.rest().await;
        while self.pool.size() > 1 {
            self.pool.acquire().await.unwrap().close().await.unwrap();
        }
    }

    pub(crate) async fn deliver(
        &mut self,
        scenario: Scenario,
        one: Message,
    ) -> Result<Outcome, DispatchError> {
        match scenario {
            Scenario::Held => self.worker.dispatch(&message(one)).await,
            Scenario::First | Scenario::Pooled => self.consumer.dispatch(&message(one)).await,
        }
    }

    /// Effects of each handler, and dedup rows.
    pub(crate) async fn durable(&self, one: Message) -> [i64; 3] {
        self.stage.books.durable(one).await.unwrap()
    }

    /// Its sessions that are in a transaction or at work.
    pub(crate) async fn busy(&self) -> i64 {
        let sql =
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND state <> 'idle'";
        sqlx::query_scalar(sql).bind(&self.name).fetch_one(&self.stage.pool).await.unwrap()
    }
}

/// Waits until a condition holds, asking again every few milliseconds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let patience = tokio::time::timeout(PATIENCE, async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    patience.await.unwrap_or_else(|_| panic!("never came to be: {what}"));
}
