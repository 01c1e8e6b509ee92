//! What is applied: a message for which one row of the application's is updated.

use std::sync::Arc;

use inbox::{
    DecodeError, Delivery, Envelope, Handler, HandlerFuture, HandlerRegistration, Inbox,
    IntegrationEvent,
};
use inbox_postgres::{PgInboxStore, PgTx};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::bed::ROWS;

pub(crate) const CONSUMER: &str = "orders-service";
pub(crate) const EVENT_TYPE: &str = "orders.order-placed.v1";

/// Which messages are delivered.
#[derive(Clone, Debug)]
pub(crate) enum Ids {
    /// Each once.
    Fresh,
    /// These, again and again.
    Known(Arc<[Uuid]>),
}

impl Ids {
    pub(crate) fn next(&self) -> Uuid {
        match self {
            Self::Fresh => Uuid::now_v7(),
            Self::Known(ids) => ids[fastrand::usize(..ids.len())],
        }
    }
}

pub(crate) fn envelope(id: Uuid) -> Envelope {
    Envelope::new(id, EVENT_TYPE, "{}")
}

/// What every contender does besides remembering the message.
pub(crate) async fn handle(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let update = sqlx::query("UPDATE stock SET reserved = reserved + 1 WHERE sku = $1");
    update.bind(fastrand::i32(0..ROWS)).execute(connection).await.map(|_| ())
}

/// An inbox whose handler does that.
pub(crate) async fn inbox(pool: &PgPool) -> anyhow::Result<Inbox<PgInboxStore>> {
    let registration = HandlerRegistration::new::<Reserve>(CONSUMER, "reserve");
    let store = PgInboxStore::new(pool.clone());
    Ok(Inbox::builder().store(store).register(registration).build().await?)
}

pub(crate) struct Placed;

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
