//! One dispatch: validate, decode, claim, run, commit.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::backoff::Backoff;
use crate::duplicate;
use crate::envelope::Envelope;
use crate::error::DispatchError;
use crate::failure::Failure;
use crate::inbox::{Core, DEFAULT_SLACK};
use crate::message_id::MessageId;
use crate::outcome::Outcome;
use crate::permanent::chain;
use crate::registration::ErasedEvent;
use crate::registry::{ConsumerTable, Route};
use crate::run::{RunContext, decode_all, run_handlers};
use crate::store::{
    Claim, Claimed, CommitError, Fault, InboxStore, Recorded, Slot, StoreError, UnitOfWork,
};
use crate::telemetry;

/// How often a serialization failure or deadlock is retried inside one dispatch.
const SERIALIZATION_RETRIES: u32 = 3;

/// Hands one message to one consumer, unless the inbox is stopping.
pub(crate) async fn dispatch<S: InboxStore>(
    core: &Core<S>,
    consumer: &ConsumerTable,
    envelope: &Envelope,
    slot: &mut Slot<S::Held>,
) -> Result<Outcome, DispatchError> {
    let Some(_running) = core.stop.enter() else {
        return Err(DispatchError::new(Failure::Stopping, None, envelope.event_type()));
    };
    dispatch_entered(core, consumer, envelope, slot).await
}

/// The same for whom the stop handle has counted in. The deadline bounds everything after the
/// validation.
pub(crate) async fn dispatch_entered<S: InboxStore>(
    core: &Core<S>,
    consumer: &ConsumerTable,
    envelope: &Envelope,
    slot: &mut Slot<S::Held>,
) -> Result<Outcome, DispatchError> {
    let failed = |failure, id| DispatchError::new(failure, id, envelope.event_type());
    let message_id = envelope
        .validate(core.settings.rules)
        .map_err(|error| failed(Failure::InvalidEnvelope(error), None))?;
    let route = consumer.route(envelope.event_type());
    let limits =
        route.map_or_else(Default::default, |route| (route.run_limit, route.statement_limit));
    let limit = core.settings.deadline.unwrap_or(limits.0.saturating_add(DEFAULT_SLACK));
    let deadline = from_now(limit);
    let mut dispatch = Dispatch {
        core,
        consumer,
        envelope,
        message_id,
        limits,
        deadline,
        ran: false,
        commit_sent: false,
        slot,
    };
    let answer = timeout_at(deadline, dispatch.run(route)).await.unwrap_or_else(|_| {
        Err(match dispatch.commit_sent {
            true => Failure::CommitUnknown { cause: None },
            false => Failure::DeadlineExceeded { deadline: limit, ran: dispatch.ran },
        })
    });
    if let Err(Failure::TransactionEscaped { handler, escape }) = &answer {
        telemetry::escaped(consumer.name, message_id, *handler, *escape);
    }
    answer.map_err(|failure| failed(failure, Some(message_id)))
}

/// One message on its way.
struct Dispatch<'a, S: InboxStore> {
    core: &'a Core<S>,
    consumer: &'a ConsumerTable,
    envelope: &'a Envelope,
    message_id: MessageId,
    /// The bounds of the run and of one statement in it.
    limits: (Duration, Duration),
    deadline: Instant,
    /// Whether a handler was started.
    ran: bool,
    /// Whether a COMMIT may have reached the database: what the deadline then leaves is unknown.
    commit_sent: bool,
    /// The connection of a worker, between claims.
    slot: &'a mut Slot<S::Held>,
}

impl<S: InboxStore> Dispatch<'_, S> {
    /// Runs until it succeeds or fails for good; serialization failures start afresh, and no
    /// connection is held while waiting for that.
    async fn run(&mut self, route: Option<&Route>) -> Result<Outcome, Failure> {
        let Some(route) = route else { return self.unhandled().await };
        let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
        let mut retries = 0;
        loop {
            match self.run_once(route).await {
                Err(failure)
                    if retries < SERIALIZATION_RETRIES
                        && self.has_fault(&failure, Fault::Serialization) =>
                {
                    retries += 1;
                    self.commit_sent = false; // it was answered
                    let wait = backoff.next();
                    telemetry::retried(self.consumer.name, self.message_id, retries, wait);
                    self.wait(wait).await;
                }
                answer => return answer.map_err(|failure| self.never_final(failure)),
            }
        }
    }

    /// A handler cannot know that the database wanted a retry, and often marks all its errors.
    fn never_final(&self, failure: Failure) -> Failure {
        let conflicted = self.has_fault(&failure, Fault::Serialization);
        match failure {
            Failure::Handler { handler, error, .. } => {
                Failure::Handler { handler, error, conflicted }
            }
            other => other,
        }
    }

    async fn run_once(&mut self, route: &Route) -> Result<Outcome, Failure> {
        let events = match decode_all(route, self.envelope) {
            Ok(events) => events,
            Err(failure) => return self.unless_processed(failure).await,
        };
        match self.claim().await? {
            Claimed::Duplicate(recorded) => self.duplicate(recorded),
            Claimed::InFlight => Err(Failure::InFlight { waited: self.core.settings.claim_wait }),
            Claimed::Fresh(unit) => self.handle(unit, route, events).await,
        }
    }

    /// Claims the pair. A twin in flight is waited for by asking again, which parks nothing.
    async fn claim(&mut self) -> Result<Claimed<S::Unit>, Failure> {
        let give_up = from_now(self.core.settings.claim_wait);
        let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(250));
        loop {
            match self.try_claim().await.map_err(Failure::Store)? {
                Claimed::InFlight if Instant::now() < give_up => self.wait(backoff.next()).await,
                claimed => return Ok(claimed),
            }
        }
    }

    async fn try_claim(&mut self) -> Result<Claimed<S::Unit>, StoreError> {
        let claim = Claim {
            consumer: self.consumer.name,
            message_id: self.message_id,
            envelope: self.envelope,
            run_limit: self.limits.0,
            statement_limit: self.limits.1,
        };
        self.core.store.claim(claim, self.slot).await
    }

    async fn handle(
        &mut self,
        mut unit: S::Unit,
        route: &Route,
        events: Vec<ErasedEvent>,
    ) -> Result<Outcome, Failure> {
        let (envelope, message_id) = (self.envelope, self.message_id);
        let (states, deadline) = (&self.core.states, self.deadline.into_std());
        let context = RunContext { envelope, message_id, states, deadline };
        self.ran = true;
        match run_handlers(&mut unit, route, events, context).await {
            Ok(()) => self.commit(unit, route).await,
            Err(failure) => match unit.rollback(self.slot).await {
                // Told instead of the handler's own failure: what it left is not what that says.
                Err(escape) if !failure.tells_of_the_transaction() => {
                    Err(Failure::TransactionEscaped { handler: blamed(&failure), escape })
                }
                _ => Err(failure),
            },
        }
    }

    async fn commit(&mut self, unit: S::Unit, route: &Route) -> Result<Outcome, Failure> {
        // What the others did to the transaction was found out before the last one was started.
        let handler = route.handlers.last().map(|handler| handler.name);
        self.commit_sent = true;
        // Some of the time is kept for finding out what became of a COMMIT without an answer.
        let left = self.deadline.saturating_duration_since(Instant::now());
        match timeout_at(Instant::now() + left.mul_f64(0.7), unit.commit(self.slot)).await {
            Ok(Ok(())) => Ok(Outcome::Processed),
            Ok(Err(CommitError::Aborted)) => Err(Failure::TransactionAborted { handler }),
            Ok(Err(CommitError::Escaped(escape))) => {
                Err(Failure::TransactionEscaped { handler, escape })
            }
            Ok(Err(CommitError::Refused(error))) => Err(Failure::Store(error.after_a_run())),
            Ok(Err(CommitError::Unknown(cause))) => self.find_out(Some(cause)).await,
            Err(_) => self.find_out(None).await,
        }
    }

    /// Whether a COMMIT without an answer is durable: the pair is claimed anew. A row there means
    /// yes; winning the claim means no; a pair still held is asked for again until the deadline.
    async fn find_out(&mut self, cause: Option<StoreError>) -> Result<Outcome, Failure> {
        telemetry::commit_unknown(self.consumer.name, self.message_id);
        let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));
        while Instant::now() < self.deadline {
            match self.try_claim().await {
                Ok(Claimed::Duplicate(recorded)) => {
                    // A row of another message under this id is not ours.
                    return match duplicate::difference(self.consumer, self.envelope, &recorded) {
                        None => Ok(Outcome::Processed),
                        Some(_) => self.duplicate(recorded),
                    };
                }
                Ok(Claimed::Fresh(unit)) => {
                    // Our own fresh claim: no handler ran in it, so nothing can have escaped.
                    let _ = unit.rollback(self.slot).await;
                    let lost =
                        || StoreError::new(Fault::Other, "the connection was lost at COMMIT");
                    return Err(Failure::Store(cause.unwrap_or_else(lost).after_a_run()));
                }
                Ok(Claimed::InFlight) | Err(_) => self.wait(backoff.next()).await,
            }
        }
        Err(Failure::CommitUnknown { cause })
    }

    async fn unhandled(&mut self) -> Result<Outcome, Failure> {
        if self.core.settings.ignore_unhandled {
            return match self.find().await? {
                Some(recorded) => self.duplicate(recorded),
                None => Ok(Outcome::Ignored),
            };
        }
        let (consumer, known) = (self.consumer.name.to_owned(), self.consumer.event_types());
        self.unless_processed(Failure::Unhandled { consumer, known }).await
    }

    /// A message that was processed is a duplicate, whatever the code can read today.
    async fn unless_processed(&mut self, failure: Failure) -> Result<Outcome, Failure> {
        match self.find().await? {
            Some(recorded) => self.duplicate(recorded),
            None => Err(failure),
        }
    }

    /// Waits without a connection: a worker's is given back before.
    async fn wait(&mut self, time: Duration) {
        self.slot.clear();
        sleep(time).await;
    }

    async fn find(&mut self) -> Result<Option<Recorded>, Failure> {
        self.slot.clear(); // a dispatch holds at most one connection
        let found = self.core.store.find(self.consumer.name, self.message_id).await;
        found.map_err(Failure::Store)
    }

    fn duplicate(&self, recorded: Recorded) -> Result<Outcome, Failure> {
        duplicate::answer(self.core, self.consumer, (self.message_id, self.envelope), recorded)
    }

    fn has_fault(&self, failure: &Failure, fault: Fault) -> bool {
        has_fault(&self.core.store, failure, fault)
    }
}

/// Whether the database failed in this way, also where it reached us inside a handler's error.
pub(crate) fn has_fault<S: InboxStore>(store: &S, failure: &Failure, fault: Fault) -> bool {
    match failure {
        Failure::Store(error) => error.fault() == fault,
        Failure::Handler { error, .. } => {
            chain(error.as_ref()).any(|link| store.fault_in(link) == Some(fault))
        }
        _ => false,
    }
}

/// A time that is out of reach, `Duration::MAX` for "none", is a long way off.
pub(crate) fn from_now(time: Duration) -> Instant {
    const LONG: Duration = Duration::from_secs(60 * 60 * 24 * 365);
    Instant::now() + time.min(LONG)
}

/// The handler that a failure of the run names.
pub(crate) fn blamed(failure: &Failure) -> Option<&'static str> {
    match failure {
        Failure::Handler { handler, .. }
        | Failure::HandlerPanicked { handler, .. }
        | Failure::HandlerTimedOut { handler, .. } => Some(handler),
        _ => None,
    }
}
