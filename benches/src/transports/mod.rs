//! `transports`: from a broker through the inbox into PostgreSQL.

mod jetstream;
mod rabbitmq;

use std::rc::Rc;
use std::time::Instant;

use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use inbox::{Consumer, SubscriptionOptions};
use inbox_postgres::PgInboxStore;
use sqlx::PgPool;

use crate::bed::{Bed, Network};
use crate::by_hand;
use crate::contender::Contender;
use crate::message::{CONSUMER, Handling, Order, Source, builder};
use crate::report::Comparison;
use crate::rounds::{Case, Rounds};

const WORKERS: usize = 8;
const BATCH: usize = 100;

/// How many messages a contender finds in the broker when its time begins.
const MESSAGES: usize = 4_000;

/// A broker with one queue for everyone, empty between two slices.
trait Broker: Sized + 'static {
    const NAME: &'static str;

    /// A message of the client's.
    type Message;

    async fn start() -> anyhow::Result<Self>;

    /// Resolves when the broker has all of them.
    async fn publish(&self, orders: Vec<Order>) -> anyhow::Result<()>;

    /// Consumes through the inbox, and resolves when everything that was published is acknowledged.
    async fn through(&self, consumer: Consumer<PgInboxStore>) -> anyhow::Result<()>;

    /// What the client delivers.
    async fn deliveries(&self)
    -> anyhow::Result<impl Stream<Item = anyhow::Result<Self::Message>>>;

    /// Ends the deliveries.
    async fn leave(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn read(message: &Self::Message) -> anyhow::Result<Order>;

    async fn ack(message: Self::Message) -> anyhow::Result<()>;
}

pub(crate) async fn run(quick: bool) -> anyhow::Result<Vec<Comparison>> {
    let bed = Bed::start().await?;
    let pool = bed.pool(Network::Local, WORKERS as u32).await?;
    let mut rounds = Rounds::new("transports", quick, 2 * 4)?;
    compare::<jetstream::JetStream>(&mut rounds, &pool).await?;
    compare::<rabbitmq::RabbitMq>(&mut rounds, &pool).await?;
    pool.close().await;
    Ok(rounds.finish())
}

async fn compare<B: Broker>(rounds: &mut Rounds, pool: &PgPool) -> anyhow::Result<()> {
    let broker = Rc::new(B::start().await?);
    let mut ours = Vec::new();
    for (name, handling) in [("inbox", Handling::Each), ("inbox, batch handler", Handling::AtOnce)]
    {
        let consumer = builder(pool, handling).build().await?.consumer(CONSUMER)?;
        ours.push(timed(name, &broker, move |broker| {
            let consumer = consumer.clone();
            async move { broker.through(consumer).await }
        }));
    }
    let by_hand = pool.clone();
    let hand = timed("hand", &broker, move |broker| {
        let pool = by_hand.clone();
        one_by_one(broker, move |message| {
            let pool = pool.clone();
            async move {
                let order = B::read(&message)?;
                by_hand::apply(&mut *pool.acquire().await?, order).await?;
                B::ack(message).await
            }
        })
    });
    let reading = timed("read and ack", &broker, |broker| one_by_one(broker, B::ack));
    let case = Case { name: B::NAME.to_owned(), workers: WORKERS, batch: BATCH };
    rounds.compare(case, &ours, &[hand, reading]).await
}

/// Publishes first; its time is that of what follows.
fn timed<B: Broker, F: Future<Output = anyhow::Result<()>> + 'static>(
    name: &'static str,
    broker: &Rc<B>,
    consume: impl Fn(Rc<B>) -> F + Clone + 'static,
) -> Contender {
    let broker = Rc::clone(broker);
    Contender::new(name, move |_| {
        let (broker, consume) = (Rc::clone(&broker), consume.clone());
        async move {
            let orders = Source::fresh().messages().batch(MESSAGES);
            broker.publish(orders).await?;
            let start = Instant::now();
            consume(broker).await?;
            Ok(MESSAGES as f64 / start.elapsed().as_secs_f64())
        }
    })
}

/// What one writes: so many messages at a time, each by itself.
async fn one_by_one<B: Broker, F: Future<Output = anyhow::Result<()>>>(
    broker: Rc<B>,
    apply: impl Fn(B::Message) -> F,
) -> anyhow::Result<()> {
    let deliveries = broker.deliveries().await?.take(MESSAGES);
    deliveries.try_for_each_concurrent(WORKERS, apply).await?;
    broker.leave().await
}

fn options() -> SubscriptionOptions {
    SubscriptionOptions::default().workers(WORKERS).batch(BATCH)
}
