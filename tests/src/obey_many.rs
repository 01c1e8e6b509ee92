//! [`ObeyMany`]: the batch handler that ends as one of its messages says.

use std::marker::PhantomData;

use inbox::{
    Argument, BatchHandler, Delivered, Delivery, FromDelivery, HandlerFuture, HandlerRegistration,
    IntegrationEvent, State,
};

use crate::bench::CONSUMER;
use crate::command::{Command, End};
use crate::harness::Harness;
use crate::obey::{Run, Writer, write_effect};
use crate::probe::Probe;

/// Writes an effect for each of its messages, and ends as the first says that does not end well.
#[derive(Debug)]
pub struct ObeyMany<H, E = Command, const N: usize = 0>(PhantomData<(H, E)>);

/// What [`ObeyMany`] obeys.
pub trait Order: IntegrationEvent + Sync {
    /// How handler number `handler` ends.
    fn end(&self, handler: usize) -> End;
}

impl Order for Command {
    fn end(&self, handler: usize) -> End {
        Command::end(self, handler)
    }
}

impl<H: Harness, E: Order, const N: usize> ObeyMany<H, E, N> {
    pub fn registration(name: &'static str) -> HandlerRegistration {
        HandlerRegistration::batch::<Self>(CONSUMER, name)
    }
}

impl<H: Harness, E: Order, const N: usize> BatchHandler for ObeyMany<H, E, N> {
    type Event = E;

    const ARGUMENTS: &'static [Argument] = &[
        <Writer<'_, H> as FromDelivery<'_>>::ARGUMENT,
        <State<Probe> as FromDelivery<'_>>::ARGUMENT,
    ];

    fn call<'a>(events: Vec<Delivered<'a, E>>, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async move {
            let State(probe) = delivery.extract::<State<Probe>>()?;
            let Writer(connection) = delivery.extract::<Writer<'_, H>>()?;
            probe.called(events.len());
            for event in &events {
                let message = event.message_id.to_string();
                probe.started(N, &message);
                write_effect::<H>(connection, N, &message).await?;
            }
            let bad = events.iter().find(|event| !matches!(event.end(N), End::Ok));
            let bad = bad.filter(|bad| !probe.is_mended(&bad.message_id.to_string()));
            let Some(bad) = bad else { return Ok(()) };
            let (id, deadline, consumer) =
                (bad.message_id, delivery.deadline(), delivery.consumer());
            Run::<H> { connection, probe: &probe, id, consumer, deadline, number: N }
                .end(bad.end(N))
                .await
        })
    }
}
