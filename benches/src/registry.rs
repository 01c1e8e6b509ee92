//! From 10,000 registrations to an inbox, as at the start of a program: sorted, checked, and tabled.

use std::collections::HashMap;

use fixture_memory_store::MemoryStore;
use inbox::{
    DecodeError, Delivery, Envelope, Handler, HandlerFuture, HandlerRegistration, Inbox,
    IntegrationEvent,
};

use crate::contender::{Contender, Worker};
use crate::report::Comparison;
use crate::rounds::{Case, Rounds};

const CONSUMERS: usize = 100;
const EVENTS: usize = 50;
const EACH: usize = 2;

pub(crate) async fn run(quick: bool) -> anyhow::Result<Vec<Comparison>> {
    let handlers: &'static [HandlerRegistration] = handlers().leak();
    let mut rounds = Rounds::new("registry", quick, 2)?;
    let name = format!("{} registrations", handlers.len());
    let case = Case { name, workers: 1, batch: 1 };
    let ours = Contender::of_workers("inbox", 1, move || async move { Ok(Build(handlers)) });
    let theirs =
        Contender::of_workers("maps of maps", 1, move || async move { Ok(Maps(handlers)) });
    rounds.compare(case, &[ours], &[theirs]).await?;
    Ok(rounds.finish())
}

/// Builds an inbox.
struct Build(&'static [HandlerRegistration]);

impl Worker for Build {
    async fn step(&mut self) -> anyhow::Result<u64> {
        let builder = Inbox::from_registry().store(MemoryStore::default());
        let builder = self.0.iter().fold(builder, |builder, handler| builder.register(*handler));
        let inbox = builder.build().await?;
        anyhow::ensure!(inbox.handlers().len() == self.0.len());
        Ok(1)
    }
}

/// What one would write instead: the same tables, and no check.
struct Maps(&'static [HandlerRegistration]);

impl Worker for Maps {
    async fn step(&mut self) -> anyhow::Result<u64> {
        let mut table: HashMap<&str, HashMap<&str, Vec<HandlerRegistration>>> = HashMap::new();
        for handler in self.0 {
            let consumer = table.entry(handler.consumer()).or_default();
            consumer.entry(handler.event_type()).or_default().push(*handler);
        }
        anyhow::ensure!(std::hint::black_box(table).len() == CONSUMERS);
        Ok(1)
    }
}

/// An event for each number.
struct Event<const N: usize>;

impl<const N: usize> IntegrationEvent for Event<N> {
    const EVENT_TYPE: &'static str = EVENT_TYPES[N];

    fn decode(_: &Envelope) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}

impl<const N: usize> Handler for Event<N> {
    type Event = Self;

    fn call<'a>(_: Self, _: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// In an order that is not theirs, as the linker's is.
fn handlers() -> Vec<HandlerRegistration> {
    let mut handlers = Vec::new();
    for consumer in 0..CONSUMERS {
        let consumer = format!("team-{:02}.consumer-{consumer:03}", consumer % 7).leak();
        for each in 0..EACH {
            for (event, of_event) in OF_EVENTS.iter().enumerate() {
                let name = format!("handles_event_{event}_in_place_{each}").leak();
                handlers.push(of_event(consumer, name).with_order(each as i32).in_crate("benches"));
            }
        }
    }
    fastrand::Rng::with_seed(5).shuffle(&mut handlers);
    handlers
}

type OfEvent = fn(&'static str, &'static str) -> HandlerRegistration;

macro_rules! events {
    ($($number:literal)*) => {
        const EVENT_TYPES: [&str; EVENTS] =
            [$(concat!("benches.something-happened-", $number, ".v1")),*];
        const OF_EVENTS: [OfEvent; EVENTS] = [$(HandlerRegistration::new::<Event<$number>>),*];
    };
}

events! {
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35
    36 37 38 39 40 41 42 43 44 45 46 47 48 49
}
