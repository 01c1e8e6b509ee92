//! A batch: many messages, one commit, one answer each.
//!
//! Nothing but `Processed` is decided by a run that messages shared: a message whose handlers failed in
//! it, or may have, is run apart by an ordinary dispatch, whose answer it gets. Who is suspected how
//! decides only how much is run again.

mod find_out;
mod group;
mod open;
mod transaction;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::sleep;

use crate::backoff::Backoff;
use crate::dispatch::dispatch_entered;
use crate::duplicate;
use crate::envelope::Envelope;
use crate::error::{DispatchError, DispatchErrorKind};
use crate::failure::Failure;
use crate::inbox::{Core, DEFAULT_SLACK};
use crate::message_id::MessageId;
use crate::outcome::Outcome;
use crate::registration::ErasedEvent;
use crate::registry::{ConsumerTable, Route};
use crate::run::decode_all;
use crate::store::{Claim, Fault, InboxStore, Recorded, Slot, StoreError};
use group::Group;

type Answer = Result<Outcome, DispatchError>;

/// Hands many messages to one consumer; one answer for each, in their order.
pub(crate) async fn dispatch_batch<S: InboxStore>(
    core: &Core<S>,
    consumer: &ConsumerTable,
    envelopes: &[Envelope],
    slot: &mut Slot<S::Held>,
) -> Vec<Answer> {
    let Some(_running) = core.stop.enter() else {
        let stopping = |envelope: &Envelope| {
            Err(DispatchError::new(Failure::Stopping, None, envelope.event_type()))
        };
        return envelopes.iter().map(stopping).collect();
    };
    dispatch_batch_entered(core, consumer, envelopes, slot).await
}

/// The same for whom the stop handle has counted in.
pub(crate) async fn dispatch_batch_entered<S: InboxStore>(
    core: &Core<S>,
    consumer: &ConsumerTable,
    envelopes: &[Envelope],
    slot: &mut Slot<S::Held>,
) -> Vec<Answer> {
    let mut batch = Batch::new(core, consumer, envelopes, slot);
    batch.sort();
    batch.run_together().await;
    batch.answer_all().await
}

/// A batch on its way.
struct Batch<'a, S: InboxStore> {
    core: &'a Core<S>,
    consumer: &'a ConsumerTable,
    envelopes: &'a [Envelope],
    /// One for each envelope; what is left without is dispatched apart in the end.
    answers: Vec<Option<Answer>>,
    /// The messages that can be run together, in the order of delivery.
    members: Vec<Member<'a>>,
    /// Which envelope a further copy of a member is a copy of.
    copies: HashMap<usize, usize>,
    /// How long the store may take for one answer.
    slack: Duration,
    /// The waits after deadlocks, and the one that is due.
    deadlocks: Backoff,
    pause: Option<Duration>,
    /// How often a handler did not end in time.
    timeouts: u32,
    slot: &'a mut Slot<S::Held>,
}

/// How many handlers of a batch may fail to end in time. What makes one of them hang, such as a service
/// that does not answer, makes the others hang as well: a batch of 100 would take its answers 100 times
/// as long.
const TIMEOUTS: u32 = 2;

/// A message that can be run with others.
struct Member<'a> {
    /// Which of the envelopes.
    place: usize,
    envelope: &'a Envelope,
    message_id: MessageId,
    route: &'a Route,
    /// The decoded events of the next run.
    events: Option<Vec<ErasedEvent>>,
    /// Whether its handlers were started.
    ran: bool,
}

impl<'a, S: InboxStore> Batch<'a, S> {
    fn new(
        core: &'a Core<S>,
        consumer: &'a ConsumerTable,
        envelopes: &'a [Envelope],
        slot: &'a mut Slot<S::Held>,
    ) -> Self {
        let answers = envelopes.iter().map(|_| None).collect();
        let longest = core.registry.longest_run();
        let slack = core.settings.deadline.map_or(DEFAULT_SLACK, |all| all.saturating_sub(longest));
        Self {
            core,
            consumer,
            envelopes,
            answers,
            members: Vec::new(),
            copies: HashMap::new(),
            slack,
            deadlocks: Backoff::new(Duration::from_millis(10), Duration::from_secs(1)),
            pause: None,
            timeouts: 0,
            slot,
        }
    }

    /// Before anything is opened: what is invalid is answered, what has no handler or cannot be decoded
    /// is looked up apart, and of several copies of a message the first that can be read runs.
    fn sort(&mut self) {
        let mut known = HashMap::new();
        for (place, envelope) in self.envelopes.iter().enumerate() {
            let message_id = match envelope.validate(self.core.settings.rules) {
                Ok(message_id) => message_id,
                Err(error) => {
                    let failure = Failure::InvalidEnvelope(error);
                    let error = DispatchError::new(failure, None, envelope.event_type());
                    self.answers[place] = Some(Err(error));
                    continue;
                }
            };
            if let Some(&first) = known.get(&message_id) {
                self.copies.insert(place, first);
                continue;
            }
            let Some(route) = self.consumer.route(envelope.event_type()) else { continue };
            let Ok(events) = decode_all(route, envelope) else { continue };
            known.insert(message_id, place);
            let events = Some(events);
            self.members.push(Member { place, envelope, message_id, route, events, ran: false });
        }
    }

    /// Runs the members in as few transactions as can be.
    async fn run_together(&mut self) {
        let limit = S::BATCH_LIMIT.max(1);
        let all = self.order();
        let mut groups: VecDeque<Group> = all.chunks(limit).map(Group::new).collect();
        while let Some(group) = groups.pop_front() {
            if group.members.len() < 2 || self.is_stuck() {
                continue; // they are dispatched apart
            }
            if let Some(pause) = self.pause.take() {
                self.wait(pause).await;
            }
            for next in self.attempt(group).await.into_iter().rev() {
                groups.push_front(next);
            }
        }
    }

    /// The order of delivery, but for events whose handlers take them in any order: they come together
    /// where the first of them is.
    fn order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.members.len());
        let mut gathered: Vec<&Route> = Vec::new();
        for (i, Member { route, .. }) in self.members.iter().enumerate() {
            if !route.in_any_order() {
                order.push(i);
            } else if !gathered.iter().any(|known| known.is_as(route)) {
                gathered.push(route);
                let later = self.members.iter().enumerate().skip(i);
                order.extend(later.filter(|(_, other)| other.route.is_as(route)).map(|(j, _)| j));
            }
        }
        order
    }

    /// Whether what remains would hang as well.
    fn is_stuck(&self) -> bool {
        self.timeouts >= TIMEOUTS
    }

    /// What has no answer yet is dispatched, in the order of delivery. A further copy takes the fate of
    /// the one that ran, if it is the same message; else it is an id that was used again.
    ///
    /// Where the database has no connection or no answer for one of them, or handlers go on hanging, it
    /// would be so for the others: they are not tried, and answered the same in time.
    async fn answer_all(mut self) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(self.envelopes.len());
        let mut stopped: Option<StoreError> = None;
        self.timeouts = 0;
        for (place, answered) in std::mem::take(&mut self.answers).into_iter().enumerate() {
            let fate = self.copies.get(&place).and_then(|&first| {
                let same = is_same(&self.envelopes[first], &self.envelopes[place]);
                same.then(|| fate_of_a_copy(&answers[first]))
            });
            let envelope = &self.envelopes[place];
            let answer = match (answered.or(fate), &stopped) {
                (Some(answer), _) => answer,
                (None, Some(why)) => Err(not_tried(envelope, why.clone())),
                (None, None) => {
                    let answer = self.dispatch(envelope).await;
                    stopped = self.why_stop(&answer);
                    answer
                }
            };
            answers.push(answer);
        }
        answers
    }

    /// Why nothing more is tried after this answer.
    fn why_stop(&mut self, answer: &Answer) -> Option<StoreError> {
        let error = answer.as_ref().err()?;
        match error.kind() {
            DispatchErrorKind::Store if !error.counts_attempt() => Some(StoreError::new(
                Fault::Busy,
                "not tried: there was no answer for a message before it in the batch",
            )),
            DispatchErrorKind::HandlerTimedOut => {
                self.timeouts += 1;
                let why =
                    "not tried: handlers of messages before it in the batch did not end in time";
                self.is_stuck().then(|| StoreError::new(Fault::Busy, why))
            }
            _ => None,
        }
    }

    /// Waits without a connection.
    async fn wait(&mut self, time: Duration) {
        self.slot.clear();
        sleep(time).await;
    }

    async fn dispatch(&mut self, envelope: &Envelope) -> Answer {
        dispatch_entered(self.core, self.consumer, envelope, self.slot).await
    }
}

/// What happens to single members.
impl<'a, S: InboxStore> Batch<'a, S> {
    fn answer(&mut self, member: usize, answer: Result<Outcome, Failure>) {
        let Member { place, envelope, message_id, .. } = self.members[member];
        let failed = |failure| DispatchError::new(failure, Some(message_id), envelope.event_type());
        self.answers[place] = Some(answer.map_err(failed));
    }

    fn answer_duplicate(&mut self, member: usize, recorded: Recorded) {
        let Member { envelope, message_id, .. } = self.members[member];
        let answer = duplicate::answer(self.core, self.consumer, (message_id, envelope), recorded);
        self.answer(member, answer);
    }

    fn claims(&self, members: &[usize]) -> Vec<Claim<'a>> {
        let claim = |&member: &usize| {
            let Member { envelope, message_id, route, .. } = self.members[member];
            Claim {
                consumer: self.consumer.name,
                message_id,
                envelope,
                run_limit: route.run_limit,
                statement_limit: route.statement_limit,
            }
        };
        members.iter().map(claim).collect()
    }

    /// Where the call ends that begins at `start`: batch handlers take all messages of their event that
    /// follow each other.
    fn end_of_call(&self, part: &[usize], start: usize) -> usize {
        let route = |i: usize| self.members[part[i]].route;
        let follows = |&i: &usize| route(start).takes_batches() && route(i).is_as(route(start));
        start + 1 + (start + 1..part.len()).take_while(follows).count()
    }

    fn calls(&self, members: &[usize]) -> Vec<Vec<usize>> {
        let (mut calls, mut start) = (Vec::new(), 0);
        while start < members.len() {
            let end = self.end_of_call(members, start);
            calls.push(members[start..end].to_vec());
            start = end;
        }
        calls
    }

    fn messages(&self, members: &[usize]) -> Vec<(MessageId, &'a Envelope)> {
        let message = |&member: &usize| {
            let Member { message_id, envelope, .. } = self.members[member];
            (message_id, envelope)
        };
        members.iter().map(message).collect()
    }

    /// The events that were decoded for this run, or those of one more.
    fn take_events(&mut self, member: usize) -> Result<Vec<ErasedEvent>, Failure> {
        let member = &mut self.members[member];
        member.events.take().map_or_else(|| decode_all(member.route, member.envelope), Ok)
    }
}

/// The message had no chance: transient, and no attempt is counted.
fn not_tried(envelope: &Envelope, why: StoreError) -> DispatchError {
    DispatchError::new(Failure::Store(why), None, envelope.event_type())
}

fn fate_of_a_copy(answer: &Answer) -> Answer {
    answer.clone().map(|_| Outcome::SkippedDuplicate)
}

/// Whether two copies of one id are the same message, whatever the store keeps to tell them apart.
fn is_same(a: &Envelope, b: &Envelope) -> bool {
    (a.event_type(), a.source(), a.content_type(), a.payload())
        == (b.event_type(), b.source(), b.content_type(), b.payload())
}
