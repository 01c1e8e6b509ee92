//! Ours and what one would write instead: each applies messages of one statement.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use inbox::{
    DecodeError, Delivery, Envelope, Handler, HandlerFuture, HandlerRegistration, Inbox,
    IntegrationEvent,
};
use inbox_postgres::{PgInboxStore, PgTx};
use sqlx::{Connection as _, PgConnection, PgPool};
use uuid::Uuid;

const CONSUMER: &str = "orders-service";
const EVENT_TYPE: &str = "orders.order-placed.v1";
/// Rows that the handlers write to: far more than workers, so that they seldom meet.
pub(crate) const ROWS: i32 = 10_000;

/// Who applies the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// sqlx with the pool's defaults: begin, insert, handler, commit. No proof.
    Hand,
    /// The same on a connection held over all messages.
    HandHeld,
    /// `consumer.dispatch`.
    Dispatch,
    /// `consumer.worker().dispatch`.
    Worker,
}

impl Contender {
    pub(crate) const ALL: [Self; 4] = [Self::Hand, Self::HandHeld, Self::Dispatch, Self::Worker];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hand => "hand",
            Self::HandHeld => "hand-held",
            Self::Dispatch => "dispatch",
            Self::Worker => "worker",
        }
    }
}

struct Placed;

impl IntegrationEvent for Placed {
    const EVENT_TYPE: &'static str = EVENT_TYPE;
    fn decode(_: &Envelope) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}

struct Reserve;

impl Handler for Reserve {
    type Event = Placed;
    fn call<'a>(_: Placed, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async move {
            let mut tx: PgTx<'_> = delivery.extract()?;
            Ok(handle(&mut tx).await?)
        })
    }
}

/// What every contender does besides remembering the message.
async fn handle(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let update = sqlx::query("UPDATE stock SET reserved = reserved + 1 WHERE sku = $1");
    update.bind(fastrand::i32(0..ROWS)).execute(connection).await.map(|_| ())
}

async fn by_hand(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let mut tx = connection.begin().await?;
    sqlx::query("INSERT INTO hand (consumer, message_id, event_type) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
        .bind(CONSUMER)
        .bind(Uuid::now_v7())
        .bind(EVENT_TYPE)
        .execute(&mut *tx)
        .await?;
    handle(&mut tx).await?;
    tx.commit().await
}

/// Messages a second with so many workers at once.
pub(crate) async fn slice(
    contender: Contender,
    pool: &PgPool,
    workers: usize,
    time: Duration,
) -> anyhow::Result<f64> {
    let registration = HandlerRegistration::new::<Reserve>(CONSUMER, "reserve");
    let store = PgInboxStore::new(pool.clone());
    let inbox = Inbox::builder().store(store).register(registration).build().await?;
    let (start, done) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let running: Vec<_> = (0..workers)
        .map(|_| {
            let (inbox, pool, done) = (inbox.clone(), pool.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                let until = start + time;
                work(contender, &inbox, &pool, || {
                    done.fetch_add(1, Ordering::Relaxed);
                    Instant::now() < until
                })
                .await
            })
        })
        .collect();
    for worker in running {
        worker.await??;
    }
    Ok(done.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64())
}

/// Applies messages while `goes_on`, which is asked after each.
async fn work(
    contender: Contender,
    inbox: &Inbox<PgInboxStore>,
    pool: &PgPool,
    goes_on: impl Fn() -> bool,
) -> anyhow::Result<()> {
    let message = || Envelope::new(Uuid::now_v7(), EVENT_TYPE, "{}");
    let mut worker = inbox.consumer(CONSUMER)?.worker();
    let mut held = match contender {
        Contender::HandHeld => Some(pool.acquire().await?),
        _ => None,
    };
    loop {
        match (contender, &mut held) {
            (Contender::Worker, _) => drop(worker.dispatch(&message()).await?),
            (Contender::Dispatch, _) => drop(inbox.dispatch(&message()).await?),
            (_, Some(connection)) => by_hand(connection).await?,
            (_, None) => by_hand(&mut *pool.acquire().await?).await?,
        }
        if !goes_on() {
            return Ok(());
        }
    }
}
