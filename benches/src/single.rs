//! Who applies messages one by one: ours, and what one would write instead.

use inbox_postgres::PgInboxStore;
use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};

use crate::by_hand;
use crate::contender::{Contender, Worker};
use crate::message::{CONSUMER, Messages, Source, handle, inbox};

/// One worker and what it works with.
pub(crate) struct Single {
    messages: Messages,
    how: How,
}

enum How {
    Dispatch(inbox::Inbox<PgInboxStore>),
    Worker(inbox::Worker<PgInboxStore>),
    Hand(PgPool),
    HandHeld(PoolConnection<Postgres>),
    NoInbox(PoolConnection<Postgres>),
}

impl Worker for Single {
    async fn step(&mut self) -> anyhow::Result<u64> {
        let order = self.messages.next();
        match &mut self.how {
            How::Dispatch(inbox) => order.expect(inbox.dispatch(&order.envelope()).await)?,
            How::Worker(worker) => order.expect(worker.dispatch(&order.envelope()).await)?,
            How::Hand(pool) => {
                order.expect(by_hand::apply(&mut *pool.acquire().await?, order).await)?;
            }
            How::HandHeld(connection) => order.expect(by_hand::apply(connection, order).await)?,
            How::NoInbox(connection) => handle(connection, order.sku).await?,
        }
        Ok(1)
    }
}

/// `consumer.dispatch` and `consumer.worker()`.
pub(crate) async fn ours(
    pool: &PgPool,
    workers: usize,
    source: &Source,
) -> anyhow::Result<[Contender; 2]> {
    let (inbox, known) = (inbox(pool).await?, source.clone());
    let dispatch = move || {
        let how = How::Dispatch(inbox.clone());
        std::future::ready(Ok(Single { messages: known.messages(), how }))
    };
    let dispatch = Contender::of_workers("dispatch", workers, dispatch);
    Ok([dispatch, worker(pool, workers, source).await?])
}

/// `consumer.worker()`.
pub(crate) async fn worker(
    pool: &PgPool,
    workers: usize,
    source: &Source,
) -> anyhow::Result<Contender> {
    let (consumer, source) = (inbox(pool).await?.consumer(CONSUMER)?, source.clone());
    let make = move || {
        let how = How::Worker(consumer.worker());
        std::future::ready(Ok(Single { messages: source.messages(), how }))
    };
    Ok(Contender::of_workers("worker", workers, make))
}

/// sqlx with the pool's defaults.
pub(crate) fn hand(pool: &PgPool, workers: usize, source: &Source) -> Contender {
    let (pool, source) = (pool.clone(), source.clone());
    let make = move || {
        let how = How::Hand(pool.clone());
        std::future::ready(Ok(Single { messages: source.messages(), how }))
    };
    Contender::of_workers("hand", workers, make)
}

/// The same on a connection held over all messages.
pub(crate) fn hand_held(pool: &PgPool, workers: usize, source: &Source) -> Contender {
    held("hand-held", How::HandHeld, pool, workers, source)
}

/// The handler's statement alone, committed by itself, on a held connection: the ceiling.
pub(crate) fn no_inbox(pool: &PgPool, workers: usize) -> Contender {
    held("no-inbox", How::NoInbox, pool, workers, &Source::fresh())
}

fn held(
    name: &'static str,
    how: fn(PoolConnection<Postgres>) -> How,
    pool: &PgPool,
    workers: usize,
    source: &Source,
) -> Contender {
    let (pool, source) = (pool.clone(), source.clone());
    Contender::of_workers(name, workers, move || {
        let (pool, messages) = (pool.clone(), source.messages());
        async move { Ok(Single { messages, how: how(pool.acquire().await?) }) }
    })
}
