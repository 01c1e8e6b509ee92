//! One run of an event's handlers: each bounded in time, each panic caught.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use futures_util::FutureExt;
use tokio::time::timeout_at;

use crate::batch_handler::Delivered;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::handler::{Delivery, HandlerFuture, States};
use crate::message_id::MessageId;
use crate::registration::{Call, ErasedEvent, HandlerRegistration};
use crate::registry::Route;
use crate::store::{Standing, StoreError, UnitOfWork};

/// Decodes the payload once for each handler, before anything is opened.
pub(crate) fn decode_all(route: &Route, envelope: &Envelope) -> Result<Vec<ErasedEvent>, Failure> {
    route.handlers.iter().map(|handler| decode(handler, envelope)).collect()
}

fn decode(handler: &HandlerRegistration, envelope: &Envelope) -> Result<ErasedEvent, Failure> {
    // A panic in a hand-written `Deserialize` is the handler's, like one in its body.
    match catch_unwind(AssertUnwindSafe(|| (handler.decode)(envelope))) {
        Ok(Ok(event)) => Ok(event),
        Ok(Err(error)) => Err(Failure::Decode { handler: handler.name, error }),
        Err(panic) => Err(panicked(handler, panic)),
    }
}

/// What every handler of a run is given.
#[derive(Clone, Copy)]
pub(crate) struct RunContext<'a> {
    pub(crate) envelope: &'a Envelope,
    pub(crate) message_id: MessageId,
    pub(crate) states: &'a States,
    /// When the whole dispatch ends.
    pub(crate) deadline: Instant,
}

/// Runs the handlers in order, in the one unit of work; the first failure stops the rest. No handler is
/// started in a transaction that an earlier one has ended or left aborted; what the last one did to it is
/// for the commit to find out.
pub(crate) async fn run_handlers<U: UnitOfWork>(
    unit: &mut U,
    route: &Route,
    events: Vec<ErasedEvent>,
    context: RunContext<'_>,
) -> Result<(), Failure> {
    let RunContext { envelope, message_id, .. } = context;
    let mut earlier = None;
    for (handler, event) in route.handlers.iter().zip(events) {
        if let Some(earlier) = earlier.replace(handler.name) {
            prove(unit, earlier, context.deadline).await?;
        }
        let delivery = delivery(unit, handler, context);
        let start = |delivery| match handler.call {
            Call::Each(call) => call(event, delivery),
            Call::Batch { call, .. } => {
                call(vec![Delivered { event, message_id, envelope }], delivery)
            }
        };
        run_one(handler, start, delivery).await?;
    }
    Ok(())
}

/// Runs batch handlers in order, each once for all of the messages; at least one. `events` are each
/// message's.
pub(crate) async fn run_batch_handlers<'a, U: UnitOfWork>(
    unit: &mut U,
    route: &Route,
    messages: &[(MessageId, &'a Envelope)],
    events: Vec<Vec<ErasedEvent>>,
    (states, deadline): (&'a States, Instant),
) -> Result<(), Failure> {
    let Some(&(message_id, envelope)) = messages.first() else { return Ok(()) };
    let mut events: Vec<_> = events.into_iter().map(Vec::into_iter).collect();
    let mut earlier = None;
    for handler in &route.handlers {
        if let Some(earlier) = earlier.replace(handler.name) {
            prove(unit, earlier, deadline).await?;
        }
        let its = events.iter_mut().zip(messages).filter_map(|(events, message)| {
            let (message_id, envelope) = *message;
            Some(Delivered { event: events.next()?, message_id, envelope })
        });
        let its: Vec<_> = its.collect();
        let context = RunContext { envelope, message_id, states, deadline };
        let delivery = delivery(unit, handler, context);
        let start = |delivery| match handler.call {
            Call::Batch { call, .. } => call(its, delivery),
            Call::Each(_) => Box::pin(std::future::ready(Err("takes one message".into()))) as _,
        };
        run_one(handler, start, delivery).await?;
    }
    Ok(())
}

fn delivery<'r, U: UnitOfWork>(
    unit: &'r mut U,
    handler: &HandlerRegistration,
    context: RunContext<'r>,
) -> Delivery<'r> {
    let RunContext { envelope, message_id, states, deadline } = context;
    Delivery {
        connection: Some(unit.connection()),
        envelope,
        message_id,
        consumer: handler.consumer,
        deadline: Instant::now()
            .checked_add(handler.timeout)
            .map_or(deadline, |end| end.min(deadline)),
        states,
    }
}

/// Proves that `handler` has left the transaction as it was lent it.
async fn prove<U: UnitOfWork>(
    unit: &mut U,
    handler: &'static str,
    deadline: Instant,
) -> Result<(), Failure> {
    let handler = Some(handler);
    let probed = timeout_at(deadline.into(), unit.probe()).await;
    match probed.unwrap_or_else(|_| Err(StoreError::silent())).map_err(Failure::Store)? {
        Standing::Ours => Ok(()),
        Standing::Aborted => Err(Failure::TransactionAborted { handler }),
        Standing::Escaped(escape) => Err(Failure::TransactionEscaped { handler, escape }),
    }
}

async fn run_one<'r>(
    handler: &HandlerRegistration,
    start: impl FnOnce(Delivery<'r>) -> HandlerFuture<'r>,
    delivery: Delivery<'r>,
) -> Result<(), Failure> {
    let start = AssertUnwindSafe(|| start(delivery));
    let mut running = catch_unwind(start).map_err(|panic| panicked(handler, panic))?;
    let bounded = AssertUnwindSafe(&mut running).catch_unwind();
    let ended = match tokio::time::timeout(handler.timeout, bounded).await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) => {
            Err(Failure::Handler { handler: handler.name, error, conflicted: false })
        }
        Ok(Err(panic)) => Err(panicked(handler, panic)),
        Err(_) => Err(Failure::HandlerTimedOut { handler: handler.name, timeout: handler.timeout }),
    };
    let dropped = drop_caught(handler, running);
    ended.and(dropped)
}

/// A value that a handler still holds when it ends may panic as it is dropped.
fn drop_caught(handler: &HandlerRegistration, ended: HandlerFuture<'_>) -> Result<(), Failure> {
    catch_unwind(AssertUnwindSafe(|| drop(ended))).map_err(|panic| panicked(handler, panic))
}

fn panicked(handler: &HandlerRegistration, panic: Box<dyn Any + Send>) -> Failure {
    let text = match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => match panic.downcast_ref::<&str>() {
            Some(text) => (*text).to_owned(),
            None => "a value that is no text".to_owned(),
        },
    };
    Failure::HandlerPanicked { handler: handler.name, text }
}
