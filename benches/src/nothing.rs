//! A store that does nothing, and a handler that does nothing: what is left is the core.

use std::error::Error;

use inbox::{
    Claim, Claimed, CommitError, DecodeError, Delivery, Envelope, Escape, Fault, Handler,
    HandlerFuture, HandlerRegistration, Inbox, InboxStore, IntegrationEvent, MessageId, Recorded,
    Slot, Standing, StoreError, UnitOfWork,
};

use crate::message::{CONSUMER, EVENT_TYPE};

/// Claims everything and keeps nothing.
pub(crate) struct NoStore;

pub(crate) struct NoUnit(());

impl InboxStore for NoStore {
    type Connection = ();
    type Unit = NoUnit;
    type Held = ();
    const NAME: &'static str = "nothing";

    async fn check(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn claim(&self, _: Claim<'_>, _: &mut Slot<()>) -> Result<Claimed<NoUnit>, StoreError> {
        Ok(Claimed::Fresh(NoUnit(())))
    }

    async fn find(&self, _: &str, _: MessageId) -> Result<Option<Recorded>, StoreError> {
        Ok(None)
    }

    fn fault_in(&self, _: &(dyn Error + 'static)) -> Option<Fault> {
        None
    }
}

impl UnitOfWork for NoUnit {
    type Connection = ();
    type Held = ();

    fn connection(&mut self) -> &mut () {
        &mut self.0
    }

    async fn probe(&mut self) -> Result<Standing, StoreError> {
        Ok(Standing::Ours)
    }

    async fn commit(self, _: &mut Slot<()>) -> Result<(), CommitError> {
        Ok(())
    }

    async fn rollback(self, _: &mut Slot<()>) -> Result<(), Escape> {
        Ok(())
    }
}

/// An event with something in it that takes no allocation of its own.
struct Counted(u64);

impl IntegrationEvent for Counted {
    const EVENT_TYPE: &'static str = EVENT_TYPE;
    fn decode(envelope: &Envelope) -> Result<Self, DecodeError> {
        Ok(Self(envelope.payload().len() as u64))
    }
}

struct Nothing;

impl Handler for Nothing {
    type Event = Counted;
    fn call<'a>(event: Counted, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async move {
            let (): () = *delivery.take_connection::<()>()?;
            std::hint::black_box(event.0);
            Ok(())
        })
    }
}

pub(crate) async fn inbox() -> anyhow::Result<Inbox<NoStore>> {
    inbox_of([HandlerRegistration::new::<Nothing>(CONSUMER, "nothing")]).await
}

/// So many handlers, a hundred to a consumer.
pub(crate) fn registrations(number: usize) -> Vec<HandlerRegistration> {
    // A registration's names are as old as the program; these are made once.
    let leaked = |name: String| -> &'static str { name.leak() };
    (0..number)
        .map(|n| {
            let consumer = leaked(format!("consumer-{}", n / 100));
            HandlerRegistration::new::<Nothing>(consumer, leaked(format!("handler-{n}")))
                .with_order((n % 100) as i32)
        })
        .collect()
}

pub(crate) async fn inbox_of(
    registrations: impl IntoIterator<Item = HandlerRegistration>,
) -> anyhow::Result<Inbox<NoStore>> {
    let builder = Inbox::builder().store(NoStore);
    let builder = registrations.into_iter().fold(builder, |builder, one| builder.register(one));
    Ok(builder.build().await?)
}
