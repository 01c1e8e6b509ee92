//! What is applied: a message for which one row of the application's is updated.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use inbox::{
    BatchHandler, DecodeError, Delivered, Delivery, Envelope, Handler, HandlerFuture,
    HandlerRegistration, Inbox, InboxBuilder, IntegrationEvent,
};
use inbox_postgres::{PgInboxStore, PgTx};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::bed::ROWS;

pub(crate) const CONSUMER: &str = "orders-service";
pub(crate) const EVENT_TYPE: &str = "orders.order-placed.v1";

/// A message before it is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) id: Uuid,
    /// The row that is updated, from 1; where it is below 0, the handler then fails.
    pub(crate) sku: i32,
}

impl Order {
    pub(crate) fn envelope(self) -> Envelope {
        Envelope::new(self.id, EVENT_TYPE, self.sku.to_string())
    }

    /// The answer to it, where a failure is as it should be.
    pub(crate) fn expect<T, E>(self, answer: Result<T, E>) -> Result<(), E> {
        answer.map_or_else(|error| if self.sku < 0 { Ok(()) } else { Err(error) }, |_| Ok(()))
    }
}

/// Which messages are delivered.
#[derive(Clone, Debug)]
pub(crate) enum Ids {
    /// Each once.
    Fresh,
    /// These, again and again.
    Known(Arc<[Uuid]>),
}

/// Which rows the handlers write to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rows {
    /// The first so many, whoever writes.
    Shared(i32),
    /// Each of so many workers to an equal part of its own.
    Own { workers: i32 },
}

/// Where the messages of a contender come from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    ids: Ids,
    rows: Rows,
    /// How many of a hundred fail.
    poison: u8,
    /// How many workers it was given to.
    given: Arc<AtomicI32>,
}

impl Source {
    pub(crate) fn new(ids: Ids, rows: Rows, poison: u8) -> Self {
        Self { ids, rows, poison, given: Arc::default() }
    }

    /// New messages, for any row.
    pub(crate) fn fresh() -> Self {
        Self::new(Ids::Fresh, Rows::Shared(ROWS), 0)
    }

    /// For one more worker.
    pub(crate) fn messages(&self) -> Messages {
        let (first, last) = match self.rows {
            Rows::Shared(rows) => (1, rows),
            Rows::Own { workers } => {
                let (nth, share) =
                    (self.given.fetch_add(1, Ordering::Relaxed) % workers, ROWS / workers);
                (nth * share + 1, (nth + 1) * share)
            }
        };
        Messages { ids: self.ids.clone(), first, last, poison: self.poison }
    }
}

/// One worker's messages.
#[derive(Debug)]
pub(crate) struct Messages {
    ids: Ids,
    first: i32,
    last: i32,
    poison: u8,
}

impl Messages {
    pub(crate) fn next(&self) -> Order {
        let id = match &self.ids {
            Ids::Fresh => Uuid::now_v7(),
            Ids::Known(ids) => ids[fastrand::usize(..ids.len())],
        };
        let sku = fastrand::i32(self.first..=self.last);
        let fails = fastrand::u8(..100) < self.poison;
        Order { id, sku: if fails { -sku } else { sku } }
    }

    /// Different ones.
    pub(crate) fn batch(&self, size: usize) -> Vec<Order> {
        let mut batch: Vec<Order> = (0..size).map(|_| self.next()).collect();
        if let Ids::Known(ids) = &self.ids {
            let start = fastrand::usize(..ids.len());
            for (order, id) in batch.iter_mut().zip(ids.iter().cycle().skip(start)) {
                order.id = *id;
            }
        }
        batch
    }
}

/// What every contender does besides remembering the message.
pub(crate) async fn handle(connection: &mut PgConnection, sku: i32) -> Result<(), sqlx::Error> {
    let update = sqlx::query("UPDATE stock SET reserved = reserved + 1 WHERE sku = $1");
    update.bind(sku.abs()).execute(connection).await?;
    unless_poison(sku)
}

/// The same for many messages, in one statement.
pub(crate) async fn handle_all(
    connection: &mut PgConnection,
    skus: Vec<i32>,
) -> Result<(), sqlx::Error> {
    let rows: Vec<i32> = skus.iter().map(|sku| sku.abs()).collect();
    let update = sqlx::query(
        "UPDATE stock SET reserved = reserved + n
         FROM (SELECT sku, count(*) AS n FROM unnest($1::int[]) AS one (sku) GROUP BY sku) AS placed
         WHERE stock.sku = placed.sku",
    );
    update.bind(rows).execute(connection).await?;
    skus.into_iter().try_for_each(unless_poison)
}

fn unless_poison(sku: i32) -> Result<(), sqlx::Error> {
    if sku < 0 { Err(sqlx::Error::Protocol("a poison message".to_owned())) } else { Ok(()) }
}

/// How the handlers take the messages of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// One by one.
    Each,
    /// All at once: a batch handler.
    AtOnce,
}

/// An inbox whose handler does that.
pub(crate) async fn inbox(pool: &PgPool) -> anyhow::Result<Inbox<PgInboxStore>> {
    Ok(builder(pool, Handling::Each).build().await?)
}

pub(crate) fn builder(pool: &PgPool, handling: Handling) -> InboxBuilder<PgInboxStore> {
    let registration = match handling {
        Handling::Each => HandlerRegistration::new::<Reserve>(CONSUMER, "reserve"),
        Handling::AtOnce => HandlerRegistration::batch::<ReserveAll>(CONSUMER, "reserve-all"),
    };
    Inbox::builder().store(PgInboxStore::new(pool.clone())).register(registration)
}

pub(crate) struct Placed {
    sku: i32,
}

impl IntegrationEvent for Placed {
    const EVENT_TYPE: &'static str = EVENT_TYPE;
    fn decode(envelope: &Envelope) -> Result<Self, DecodeError> {
        let sku = str::from_utf8(envelope.payload()).ok().and_then(|text| text.parse().ok());
        Ok(Self { sku: sku.ok_or_else(|| DecodeError::new("the payload is no row's number"))? })
    }
}

struct Reserve;

impl Handler for Reserve {
    type Event = Placed;
    fn call<'a>(event: Placed, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async move {
            let mut tx: PgTx<'_> = delivery.extract()?;
            Ok(handle(&mut tx, event.sku).await?)
        })
    }
}

struct ReserveAll;

impl BatchHandler for ReserveAll {
    type Event = Placed;
    fn call<'a>(
        events: Vec<Delivered<'a, Placed>>,
        mut delivery: Delivery<'a>,
    ) -> HandlerFuture<'a> {
        Box::pin(async move {
            let mut tx: PgTx<'_> = delivery.extract()?;
            let skus = events.iter().map(|event| event.sku).collect();
            Ok(handle_all(&mut tx, skus).await?)
        })
    }
}
