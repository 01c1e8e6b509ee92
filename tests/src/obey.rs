//! [`Obey`]: the handler that ends as its message says.

use std::error::Error;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::time::Instant;

use inbox::{
    Argument, Delivery, FromDelivery, Handler, HandlerError, HandlerFuture, InboxStore, MessageId,
    PermanentError, Requirements, State,
};

use crate::clock::outlive;
use crate::command::{Command, End, Then};
use crate::harness::{Connection, Harness, Nested};
use crate::plan::Injected;
use crate::probe::Probe;

/// Handler number `N`: writes its effect, then ends as its message says.
#[derive(Debug)]
pub struct Obey<H, const N: usize>(PhantomData<H>);

/// The handlers' own error, to be found again in the answer's source chain.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal(pub usize);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "handler {} refuses", self.0)
    }
}

impl Error for Refusal {}

/// A layer as `anyhow::Context` makes it: it shows its own text and keeps the rest as source.
#[derive(Debug)]
struct Layer(HandlerError);

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("while obeying")
    }
}

impl Error for Layer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.0.as_ref())
    }
}

/// An extractor of the suite's own: refuses where the message has a `refuse` header.
struct Checked;

impl<'a> FromDelivery<'a> for Checked {
    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        delivery.extract::<State<Probe>>()?.count_extraction();
        match delivery.envelope().headers().get("refuse") {
            None => Ok(Checked),
            Some("permanently") => Err(Refusal(usize::MAX).permanent().into()),
            Some(_) => Err(Refusal(usize::MAX).into()),
        }
    }
}

/// The transaction context of any store.
pub(crate) struct Writer<'a, H: Harness>(pub(crate) &'a mut Connection<H>);

impl<'a, H: Harness> FromDelivery<'a> for Writer<'a, H> {
    const IS_TRANSACTION: bool = true;
    const OF_A_BATCH: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        delivery.take_connection().map(Writer)
    }

    fn requirements(needs: &mut Requirements) {
        needs.connection::<Connection<H>>(H::Store::NAME);
    }
}

impl<H: Harness, const N: usize> Handler for Obey<H, N> {
    type Event = Command;

    const ARGUMENTS: &'static [Argument] = &[
        <Writer<'_, H> as FromDelivery<'_>>::ARGUMENT,
        <State<Probe> as FromDelivery<'_>>::ARGUMENT,
    ];

    fn call<'a>(command: Command, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async move {
            let State(probe) = delivery.extract::<State<Probe>>()?;
            let Checked = delivery.extract()?;
            let message = delivery.message_id().to_string();
            probe.started(N, &message);
            let Writer(connection) = delivery.extract::<Writer<'_, H>>()?;
            write_effect::<H>(connection, N, &message).await?;
            let end = if probe.is_mended(&message) { End::Ok } else { command.end(N) };
            if let End::TakeConnectionTwice = end {
                return delivery.extract::<Writer<'_, H>>().map(drop);
            }
            let (id, deadline) = (delivery.message_id(), delivery.deadline());
            let consumer = delivery.consumer();
            Run::<H> { connection, probe: &probe, id, consumer, deadline, number: N }.end(end).await
        })
    }
}

pub(crate) async fn write_effect<H: Harness>(
    connection: &mut Connection<H>,
    handler: impl Display,
    message: &str,
) -> Result<(), HandlerError> {
    H::execute(connection, format!("INSERT INTO effects VALUES ('{handler}', '{message}')")).await
}

pub(crate) struct Run<'r, H: Harness> {
    pub(crate) connection: &'r mut Connection<H>,
    pub(crate) probe: &'r Probe,
    pub(crate) id: MessageId,
    pub(crate) consumer: &'r str,
    pub(crate) deadline: Instant,
    pub(crate) number: usize,
}

impl<H: Harness> Run<'_, H> {
    pub(crate) async fn end(&mut self, end: End) -> Result<(), HandlerError> {
        match end {
            End::Wait(then) => {
                self.probe.wait_at_the_gate().await;
                self.end_now(*then).await
            }
            end => self.end_now(end).await,
        }
    }

    async fn end_now(&mut self, end: End) -> Result<(), HandlerError> {
        match end {
            End::Ok | End::Wait(_) | End::TakeConnectionTwice => Ok(()),
            End::Error => Err(Refusal(self.number).into()),
            End::Permanent => Err(Refusal(self.number).permanent().into()),
            End::PermanentBehindLayers => {
                let marked = Refusal(self.number).permanent();
                Err(Layer(Layer(marked.into()).into()).into())
            }
            End::SerializationFailure => Err(Layer(Injected::serialization().into()).into()),
            End::PermanentSerializationFailure => Err(Injected::serialization().permanent().into()),
            End::Panic => panic!("handler {} panics", self.number),
            End::PanicWithoutText => std::panic::panic_any(self.number),
            End::Hang => self.hang().await,
            End::SwallowFailedStatement => {
                let _ = self.sql("INSERT INTO nowhere VALUES (1)").await;
                let _ = self.effect("after").await;
                Ok(())
            }
            End::ConfineFailedStatement => {
                self.nested("INSERT INTO nowhere VALUES (1)", Nested::RollBack).await?;
                self.effect("after").await
            }
            End::UniqueViolation => self.sql("INSERT INTO things VALUES ('one'), ('one')").await,
            End::DeferredViolation => self.sql("INSERT INTO children VALUES ('orphan')").await,
            End::LeakSavepoint(then) => {
                let name = format!("leaked {} {}", self.id, self.number);
                self.nested(&format!("INSERT INTO things VALUES ('{name}')"), Nested::Leak).await?;
                self.then(then).await
            }
            End::Escape(escape, then) => {
                // Where the database refuses, the handler looks away: the worst it can do.
                let ended = self.sql(escape.sql()).await.is_ok();
                if ended && escape.begins_anew() {
                    self.effect("after").await?;
                }
                self.then(then).await
            }
            End::LoseConnection => match H::FEATURES.connections {
                Some(connections) => self.sql(connections.cut_own).await,
                None => Err(Refusal(self.number).into()),
            },
            End::GiveUpBegin => {
                H::give_up_a_begin(self.connection).await;
                Ok(())
            }
            End::GiveUpBeginAndWrite => {
                H::give_up_a_begin(self.connection).await;
                let _ = self.effect("after").await; // refused where commits are guarded
                Ok(())
            }
            End::SeeOwnDedupRow => self.see_own_dedup_row().await,
        }
    }

    async fn then(&mut self, then: Then) -> Result<(), HandlerError> {
        Box::pin(self.end_now(then.end())).await
    }

    async fn sql(&mut self, sql: &str) -> Result<(), HandlerError> {
        H::execute(self.connection, sql.to_owned()).await
    }

    async fn nested(&mut self, sql: &str, end: Nested) -> Result<(), HandlerError> {
        H::in_savepoint(self.connection, sql.to_owned(), end).await
    }

    async fn effect(&mut self, handler: &str) -> Result<(), HandlerError> {
        write_effect::<H>(self.connection, handler, &self.id.to_string()).await
    }

    async fn hang(&mut self) -> Result<(), HandlerError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        outlive(left).await;
        Ok(())
    }

    async fn see_own_dedup_row(&mut self) -> Result<(), HandlerError> {
        let sql = H::dedup_rows_sql(self.consumer);
        let rows = H::query_on(self.connection, sql).await?;
        let own = self.id.as_uuid().simple().to_string();
        match rows.iter().any(|row| row.replace('-', "").eq_ignore_ascii_case(&own)) {
            true => Ok(()),
            false => Err("the dedup row is not on the handler's connection".into()),
        }
    }
}
