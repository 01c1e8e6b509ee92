//! Two consumers of one event, with two handlers each, every one of which leaves one effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inbox::{
    DecodeError, Delivery, Envelope, Handler, HandlerFuture, HandlerRegistration, Inbox,
    InboxBuilder, IntegrationEvent, State,
};
use inbox_postgres::{PgInboxStore, PgTx};
use sqlx::PgPool;

use crate::form::through_a_pooler;
use crate::stage::Message;

/// The consumers of every message.
pub const CONSUMERS: [&str; 2] = ["battery-stock", "battery-mail"];

/// The handlers of each consumer, in the order they run.
pub const HANDLERS: [&str; 2] = ["first", "second"];

/// How often each handler was started in this process.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Arc<[AtomicU64; 2]>);

impl Ledger {
    /// The starts of each handler since the last call.
    pub fn take(&self) -> [u64; 2] {
        [0, 1].map(|handler: usize| self.0[handler].swap(0, Ordering::SeqCst))
    }
}

/// A message that says how long the database is to sleep in each of its handlers; less than nothing
/// means that the last one fails after it has written.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    nap: f64,
}

impl IntegrationEvent for Placed {
    const EVENT_TYPE: &'static str = "battery.placed.v1";

    fn decode(envelope: &Envelope) -> Result<Self, DecodeError> {
        let text = std::str::from_utf8(envelope.payload());
        let nap = text.ok().and_then(|text| text.parse().ok());
        nap.map(|nap| Self { nap }).ok_or_else(|| DecodeError::new("not a number"))
    }
}

/// A consumer's handler of that number.
struct Write<const NUMBER: usize>;

impl<const NUMBER: usize> Handler for Write<NUMBER> {
    type Event = Placed;

    fn call<'a>(event: Placed, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async move {
            let State(ledger): State<Ledger> = delivery.extract()?;
            ledger.0[NUMBER].fetch_add(1, Ordering::SeqCst);
            let mut tx: PgTx<'_> = delivery.extract()?;
            // Not named, for poolers that do not follow names.
            sqlx::query("INSERT INTO effects (consumer, handler, message_id) VALUES ($1, $2, $3)")
                .bind(delivery.consumer())
                .bind(HANDLERS[NUMBER])
                .bind(delivery.message_id().as_uuid())
                .persistent(false)
                .execute(&mut *tx)
                .await?;
            if event.nap > 0.0 {
                let nap = sqlx::query("SELECT pg_sleep($1)").bind(event.nap).persistent(false);
                nap.execute(&mut *tx).await?;
            }
            match event.nap < 0.0 && NUMBER + 1 == HANDLERS.len() {
                true => Err("the message says so".into()),
                false => Ok(()),
            }
        })
    }
}

/// The handlers of one consumer.
pub fn registrations(consumer: &'static str, timeout: Duration) -> [HandlerRegistration; 2] {
    [
        HandlerRegistration::new::<Write<0>>(consumer, HANDLERS[0]),
        HandlerRegistration::new::<Write<1>>(consumer, HANDLERS[1]),
    ]
    .map(|handler| handler.with_timeout(timeout))
}

/// An inbox with both consumers on a pool.
pub fn inbox_on(pool: PgPool, ledger: Ledger, timeout: Duration) -> InboxBuilder<PgInboxStore> {
    let store = PgInboxStore::new(pool).accept_fsync_off();
    let store = if through_a_pooler() { store.without_named_statements() } else { store };
    let inbox = Inbox::builder().store(store).state(ledger);
    let handlers = CONSUMERS.into_iter().flat_map(|consumer| registrations(consumer, timeout));
    handlers.fold(inbox, InboxBuilder::register)
}

/// One delivery of a message.
pub fn message(message: Message) -> Envelope {
    Envelope::new(message.id, Placed::EVENT_TYPE, message.nap.to_string())
}
