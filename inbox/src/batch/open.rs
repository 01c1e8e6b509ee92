//! Opening the transaction of a group: the consumer's lane, the claims, and what they are answered.

use std::time::Duration;

use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, timeout, timeout_at};

use super::Batch;
use super::group::Group;
use crate::backoff::Backoff;
use crate::batch_claim::{BatchClaim, ClaimedBatch, PairAnswer};
use crate::dispatch::from_now;
use crate::failure::Failure;
use crate::store::{Claim, Fault, InboxStore, Recorded, StoreError};
use crate::telemetry;

/// How long a batch waits for the batch before it, for each of its messages: about what a message pays
/// that is dispatched apart. Who waits longer for a commit in common than the commits apart would take
/// gains nothing.
const WAIT_PER_MESSAGE: Duration = Duration::from_millis(10);

/// An open transaction.
pub(super) struct Open<'a, U> {
    pub(super) unit: U,
    /// Those of the trusted ones that are fresh.
    pub(super) fresh: Vec<usize>,
    /// This process's turn among the batches of the consumer.
    pub(super) _turn: Option<SemaphorePermit<'a>>,
}

impl<'a, S: InboxStore> Batch<'a, S> {
    /// Opens a transaction and claims the trusted ones. An error are the groups that are left to be run.
    pub(super) async fn open(
        &mut self,
        group: &mut Group,
    ) -> Result<Open<'a, S::Unit>, Vec<Group>> {
        let exclusive = !S::EMBEDDED && !self.core.settings.parallel_batches;
        let patience = WAIT_PER_MESSAGE.saturating_mul(group.members.len() as u32);
        let give_up = from_now(patience.min(self.core.settings.claim_wait));
        let turn = match exclusive {
            true => Some(self.turn(give_up).await.ok_or_else(Vec::new)?),
            false => None,
        };
        let mut backoff = Backoff::new(Duration::from_millis(2), Duration::from_millis(50));
        loop {
            let trusted = group.members[..group.trusted].to_vec();
            match self.claim(group, &trusted, exclusive).await {
                Ok(ClaimedBatch::Open(unit, answers)) => {
                    let fresh = self.settle(&trusted, answers);
                    return Ok(Open { unit, fresh, _turn: turn });
                }
                Ok(ClaimedBatch::Busy(recorded)) => {
                    self.settle_known(group, recorded);
                    if group.members.is_empty() {
                        return Err(Vec::new());
                    }
                    if Instant::now() >= give_up {
                        return self.busy_lane();
                    }
                    self.wait(backoff.next()).await;
                }
                Err(failure) => return Err(self.not_opened(group, failure)),
            }
        }
    }

    /// Batches of this process queue here, fairly and without a connection; only those of different
    /// processes ask the database again and again.
    async fn turn(&mut self, give_up: Instant) -> Option<SemaphorePermit<'a>> {
        let lane = &self.consumer.lane;
        if let Ok(turn) = lane.try_acquire() {
            return Some(turn);
        }
        self.slot.clear();
        match timeout_at(give_up, lane.acquire()).await {
            Ok(Ok(turn)) => Some(turn),
            _ => {
                telemetry::batch_lane_busy(self.consumer.name);
                None
            }
        }
    }

    /// The group is not run together; so each of its messages is dispatched apart.
    fn busy_lane<T>(&self) -> Result<T, Vec<Group>> {
        telemetry::batch_lane_busy(self.consumer.name);
        Err(Vec::new())
    }

    async fn claim(
        &mut self,
        group: &Group,
        first: &[usize],
        exclusive: bool,
    ) -> Result<ClaimedBatch<S::Unit>, Failure> {
        let claims = self.claims(first);
        let claimed =
            timeout(self.slack, self.open_batch(&group.members, &claims, exclusive)).await;
        match claimed {
            Ok(claimed) => claimed.map_err(Failure::Store),
            Err(_) => Err(Failure::DeadlineExceeded { deadline: self.slack, ran: false }),
        }
    }

    pub(super) async fn open_batch(
        &mut self,
        members: &[usize],
        claims: &[Claim<'_>],
        exclusive: bool,
    ) -> Result<ClaimedBatch<S::Unit>, StoreError> {
        let (run_limit, statement_limit) = self.limits(members);
        let consumer = self.consumer.name;
        let batch = BatchClaim { consumer, claims, exclusive, run_limit, statement_limit };
        self.core.store.open_batch(batch, self.slot).await
    }

    /// The longest run of one message, and of one handler.
    fn limits(&self, members: &[usize]) -> (Duration, Duration) {
        members.iter().fold((Duration::ZERO, Duration::ZERO), |(run, statement), &member| {
            let route = self.members[member].route;
            (run.max(route.run_limit), statement.max(route.statement_limit))
        })
    }

    /// Answers what was claimed in vain, and tells who is fresh.
    pub(super) fn settle(&mut self, claimed: &[usize], answers: Vec<PairAnswer>) -> Vec<usize> {
        let mut fresh = Vec::with_capacity(claimed.len());
        for (&member, answer) in claimed.iter().zip(answers) {
            match answer {
                PairAnswer::Fresh => fresh.push(member),
                PairAnswer::Duplicate(recorded) => self.answer_duplicate(member, recorded),
                PairAnswer::InFlight => {
                    self.answer(member, Err(Failure::InFlight { waited: Duration::ZERO }));
                }
            }
        }
        fresh
    }

    /// Answers the duplicates among the trusted ones, so that they do not wait for the lane.
    fn settle_known(&mut self, group: &mut Group, recorded: Vec<Option<Recorded>>) {
        let mut left = Vec::with_capacity(group.members.len());
        let rest = group.members.split_off(group.trusted);
        for (&member, recorded) in group.members.iter().zip(recorded) {
            match recorded {
                Some(recorded) => self.answer_duplicate(member, recorded),
                None => left.push(member),
            }
        }
        group.trusted = left.len();
        left.extend(rest);
        group.members = left;
    }

    /// No handler has run, so the store's own failure may be the answer, where it is no message's doing:
    /// there is no connection, or no answer at all.
    fn not_opened(&mut self, group: &Group, failure: Failure) -> Vec<Group> {
        let deadline = self.slack;
        match failure {
            Failure::Store(error) if error.fault() != Fault::Busy => {
                self.halve(&group.members, error.fault() == Fault::Serialization)
            }
            Failure::Store(error) => self.answer_each(group, |ran| {
                let error = error.clone();
                Failure::Store(if ran { error.after_a_run() } else { error })
            }),
            _ => self.answer_each(group, |ran| Failure::DeadlineExceeded { deadline, ran }),
        }
    }

    fn answer_each(&mut self, group: &Group, failure: impl Fn(bool) -> Failure) -> Vec<Group> {
        for &member in &group.members {
            let failure = failure(self.members[member].ran);
            self.answer(member, Err(failure));
        }
        Vec::new()
    }

    /// After a deadlock the same messages are never tried together again: two would meet again.
    pub(super) fn halve(&mut self, members: &[usize], deadlock: bool) -> Vec<Group> {
        if deadlock {
            let wait = self.deadlocks.next();
            telemetry::batch_retried(self.consumer.name, members.len(), wait);
            self.pause = Some(wait);
        }
        Group::halves(members)
    }
}
