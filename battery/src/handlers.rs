//! Two consumers of one event, with two handlers each, every one of which leaves one effect.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inbox::{
    DecodeError, Delivery, Envelope, Handler, HandlerError, HandlerFuture, HandlerRegistration,
    Inbox, InboxBuilder, InboxStore, IntegrationEvent, State,
};
use inbox_postgres::{PgInboxStore, PgTx};
use inbox_sqlite::{SqliteInboxStore, SqliteTx};
use sqlx::PgPool;

use crate::books::Message;
use crate::form::through_a_pooler;

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

/// A message that says how long each of its handlers takes, in seconds; less than nothing means that the last one fails after it has written.
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

/// A store whose handlers leave effects.
pub trait Effects: InboxStore {
    /// Writes one, and takes as long as the message says. The text of the statement is `EFFECT`.
    fn write(
        delivery: &mut Delivery<'_>,
        effect: [String; 3],
        nap: f64,
    ) -> impl Future<Output = Result<(), HandlerError>> + Send;
}

const EFFECT: &str = "INSERT INTO effects (consumer, handler, message_id) VALUES ($1, $2, $3)";

impl Effects for PgInboxStore {
    async fn write(
        delivery: &mut Delivery<'_>,
        [consumer, handler, message_id]: [String; 3],
        nap: f64,
    ) -> Result<(), HandlerError> {
        let mut tx: PgTx<'_> = delivery.extract()?;
        // Not named, for poolers that do not follow names.
        let effect = sqlx::query(EFFECT).bind(consumer).bind(handler).bind(message_id);
        effect.persistent(false).execute(&mut *tx).await?;
        if nap > 0.0 {
            let nap = sqlx::query("SELECT pg_sleep($1)").bind(nap).persistent(false);
            nap.execute(&mut *tx).await?;
        }
        Ok(())
    }
}

impl Effects for SqliteInboxStore {
    async fn write(
        delivery: &mut Delivery<'_>,
        [consumer, handler, message_id]: [String; 3],
        nap: f64,
    ) -> Result<(), HandlerError> {
        let mut tx: SqliteTx<'_> = delivery.extract()?;
        let effect = sqlx::query(EFFECT).bind(consumer).bind(handler).bind(message_id);
        effect.execute(&mut *tx).await?;
        if nap > 0.0 {
            tokio::time::sleep(Duration::from_secs_f64(nap)).await;
        }
        Ok(())
    }
}

/// A consumer's handler of that number.
struct Write<S, const NUMBER: usize>(PhantomData<S>);

impl<S: Effects, const NUMBER: usize> Handler for Write<S, NUMBER> {
    type Event = Placed;

    fn call<'a>(event: Placed, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async move {
            let State(ledger): State<Ledger> = delivery.extract()?;
            ledger.0[NUMBER].fetch_add(1, Ordering::SeqCst);
            let message_id = delivery.message_id().as_uuid().simple().to_string();
            let effect = [delivery.consumer().to_owned(), HANDLERS[NUMBER].to_owned(), message_id];
            S::write(&mut delivery, effect, event.nap).await?;
            match event.nap < 0.0 && NUMBER + 1 == HANDLERS.len() {
                true => Err("the message says so".into()),
                false => Ok(()),
            }
        })
    }
}

/// The handlers of one consumer.
fn registrations<S: Effects>(
    consumer: &'static str,
    timeout: Duration,
) -> [HandlerRegistration; 2] {
    [
        HandlerRegistration::new::<Write<S, 0>>(consumer, HANDLERS[0]),
        HandlerRegistration::new::<Write<S, 1>>(consumer, HANDLERS[1]),
    ]
    .map(|handler| handler.with_timeout(timeout))
}

/// A store on the database of a [`Stage`](crate::Stage).
pub fn store_on(pool: PgPool) -> PgInboxStore {
    let store = PgInboxStore::new(pool).accept_fsync_off();
    if through_a_pooler() { store.without_named_statements() } else { store }
}

/// An inbox with both consumers.
pub fn inbox_on<S: Effects>(store: S, ledger: Ledger, timeout: Duration) -> InboxBuilder<S> {
    let inbox = Inbox::builder().store(store).state(ledger);
    let handlers = CONSUMERS.into_iter().flat_map(|consumer| registrations::<S>(consumer, timeout));
    handlers.fold(inbox, InboxBuilder::register)
}

/// One delivery of a message.
pub fn message(message: Message) -> Envelope {
    Envelope::new(message.id, Placed::EVENT_TYPE, message.nap.to_string())
}
