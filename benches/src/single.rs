//! Who applies messages one by one: ours, and what one would write instead.

use inbox_postgres::PgInboxStore;
use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};

use crate::by_hand;
use crate::contender::{Contender, Worker};
use crate::message::{CONSUMER, Ids, envelope, handle, inbox};

/// One worker and what it works with.
pub(crate) enum Single {
    Dispatch(inbox::Inbox<PgInboxStore>, Ids),
    Worker(inbox::Worker<PgInboxStore>, Ids),
    Hand(PgPool, Ids),
    HandHeld(PoolConnection<Postgres>, Ids),
    NoInbox(PoolConnection<Postgres>),
}

impl Worker for Single {
    async fn step(&mut self) -> anyhow::Result<u64> {
        match self {
            Self::Dispatch(inbox, ids) => drop(inbox.dispatch(&envelope(ids.next())).await?),
            Self::Worker(worker, ids) => drop(worker.dispatch(&envelope(ids.next())).await?),
            Self::Hand(pool, ids) => {
                by_hand::apply(&mut *pool.acquire().await?, ids.next()).await?
            }
            Self::HandHeld(connection, ids) => by_hand::apply(connection, ids.next()).await?,
            Self::NoInbox(connection) => handle(connection).await?,
        }
        Ok(1)
    }
}

/// `consumer.dispatch` and `consumer.worker()`.
pub(crate) async fn ours(
    pool: &PgPool,
    workers: usize,
    ids: Ids,
) -> anyhow::Result<[Contender; 2]> {
    let inbox = inbox(pool).await?;
    let consumer = inbox.consumer(CONSUMER)?;
    let known = ids.clone();
    let dispatch = move || std::future::ready(Ok(Single::Dispatch(inbox.clone(), known.clone())));
    let worker = move || std::future::ready(Ok(Single::Worker(consumer.worker(), ids.clone())));
    Ok([
        Contender::of_workers("dispatch", workers, dispatch),
        Contender::of_workers("worker", workers, worker),
    ])
}

/// sqlx with the pool's defaults.
pub(crate) fn hand(pool: &PgPool, workers: usize, ids: Ids) -> Contender {
    let pool = pool.clone();
    let make = move || std::future::ready(Ok(Single::Hand(pool.clone(), ids.clone())));
    Contender::of_workers("hand", workers, make)
}

/// The same on a connection held over all messages.
pub(crate) fn hand_held(pool: &PgPool, workers: usize, ids: Ids) -> Contender {
    let pool = pool.clone();
    Contender::of_workers("hand-held", workers, move || {
        let (pool, ids) = (pool.clone(), ids.clone());
        async move { Ok(Single::HandHeld(pool.acquire().await?, ids)) }
    })
}

/// The handler's statement alone, committed by itself, on a held connection: the ceiling.
pub(crate) fn no_inbox(pool: &PgPool, workers: usize) -> Contender {
    let pool = pool.clone();
    Contender::of_workers("no-inbox", workers, move || {
        let pool = pool.clone();
        async move { Ok(Single::NoInbox(pool.acquire().await?)) }
    })
}
