//! One transaction of a batch: from the claims to the commit.

use std::ops::Range;
use std::time::Duration;

use tokio::time::timeout;

use super::group::{Group, Parts};
use super::open::Open;
use super::{Batch, Member};
use crate::dispatch::{blamed, from_now, has_fault};
use crate::failure::Failure;
use crate::run::{RunContext, run_batch_handlers, run_handlers};
use crate::store::{Escape, Fault, InboxStore, Standing, StoreError, UnitOfWork};

/// A run of some members that failed.
struct Stumble {
    /// Which of the members may be the cause.
    suspects: Range<usize>,
    doubt: Doubt,
    /// The handler that failed, where one did.
    handler: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    /// One of the suspects failed, or left the transaction aborted.
    None,
    /// None of them alone: a deadlock, or a serialization failure.
    Serialization,
    /// A mark was asked for and not answered for: it may be set or not, so what an undoing would undo
    /// is not known.
    Unmarked,
    /// Someone ended the transaction.
    Escaped(Escape),
}

/// What a transaction that was lost had got to.
pub(super) struct Lost {
    /// Proven before the loss.
    pub(super) kept: Vec<usize>,
    /// May have been the cause.
    pub(super) in_doubt: Vec<usize>,
    /// Not reached.
    pub(super) left: Vec<usize>,
    /// The handler that failed, where one did.
    pub(super) handler: Option<&'static str>,
}

impl<S: InboxStore> Batch<'_, S> {
    /// Runs a group in one transaction, and tells what is left to be run together, in order.
    pub(super) async fn attempt(&mut self, mut group: Group) -> Vec<Group> {
        if S::EMBEDDED {
            group.trusted = 0;
        }
        let Open { mut unit, fresh, _turn } = match self.open(&mut group).await {
            Ok(open) => open,
            Err(left) => return left,
        };
        let rest = group.members[group.trusted..].to_vec();
        match self.run_part(&mut unit, &fresh).await {
            Ok(()) if rest.is_empty() => self.finish(unit, &group, fresh).await,
            Ok(()) => self.run_in_parts(unit, &group, fresh, &rest).await,
            Err(stumble) => self.trust_was_broken(unit, &group, fresh, rest, stumble).await,
        }
    }

    /// Runs members in their order, call by call; the first failure stops the rest.
    async fn run_part(&mut self, unit: &mut S::Unit, part: &[usize]) -> Result<(), Stumble> {
        let mut start = 0;
        while start < part.len() {
            if start > 0 && unit.is_due_for_a_probe() {
                self.probe(unit, start).await?;
            }
            let call = start..self.end_of_call(part, start);
            self.run_call(unit, &part[call.clone()], call.clone()).await?;
            start = call.end;
        }
        Ok(())
    }

    /// Proves that the transaction is ours and alive after the members before `end`.
    async fn probe(&mut self, unit: &mut S::Unit, end: usize) -> Result<(), Stumble> {
        let doubt = match bounded(self.slack, unit.probe()).await {
            Ok(Standing::Ours) => return Ok(()),
            Ok(Standing::Escaped(escape)) => Doubt::Escaped(escape),
            Ok(Standing::Aborted) | Err(_) => Doubt::None,
        };
        Err(Stumble { suspects: 0..end, doubt, handler: None })
    }

    /// Runs the handlers of members that they take together.
    async fn run_call(
        &mut self,
        unit: &mut S::Unit,
        members: &[usize],
        call: Range<usize>,
    ) -> Result<(), Stumble> {
        let mut events = Vec::with_capacity(members.len());
        for (i, &member) in (call.start..).zip(members) {
            match self.take_events(member) {
                Ok(its) => events.push(its),
                Err(failure) => return Err(self.stumble(i..i + 1, &failure)),
            }
            self.members[member].ran = true;
        }
        let Some(&first) = members.first() else { return Ok(()) };
        let Member { route, envelope, message_id, .. } = self.members[first];
        let states = &self.core.states;
        let deadline = from_now(route.run_limit.saturating_add(self.slack)).into_std();
        let ran = match (events.len(), events.pop()) {
            (1, Some(events)) => {
                let context = RunContext { envelope, message_id, states, deadline };
                run_handlers(unit, route, events, context).await
            }
            (_, last) => {
                events.extend(last);
                let messages = self.messages(members);
                run_batch_handlers(unit, route, &messages, events, (states, deadline)).await
            }
        };
        ran.map_err(|failure| self.stumble(call, &failure))
    }

    fn stumble(&mut self, call: Range<usize>, failure: &Failure) -> Stumble {
        let handler = blamed(failure);
        self.timeouts += u32::from(matches!(failure, Failure::HandlerTimedOut { .. }));
        let (suspects, doubt) = match failure {
            // Found before a later handler of one message; it may be the doing of any message before.
            Failure::TransactionAborted { .. } => (0..call.end, Doubt::None),
            Failure::TransactionEscaped { escape, .. } => (0..call.end, Doubt::Escaped(*escape)),
            _ if has_fault(&self.core.store, failure, Fault::Serialization) => {
                (call, Doubt::Serialization)
            }
            _ => (call, Doubt::None),
        };
        Stumble { suspects, doubt, handler }
    }

    /// Someone failed among those that run without a mark, so that nothing of the transaction is left.
    async fn trust_was_broken(
        &mut self,
        unit: S::Unit,
        group: &Group,
        mut fresh: Vec<usize>,
        rest: Vec<usize>,
        Stumble { suspects, doubt, handler }: Stumble,
    ) -> Vec<Group> {
        if doubt != Doubt::None {
            let lost = Lost { kept: Vec::new(), in_doubt: fresh, left: rest, handler };
            return self.give_up(unit, group, lost, doubt).await;
        }
        if let Err(escape) = self.roll_back(unit).await {
            let lost = Lost { kept: Vec::new(), in_doubt: fresh, left: rest, handler };
            return self.escaped(group, lost, escape).await;
        }
        let mut left = fresh.split_off(suspects.start);
        if suspects.len() == 1 {
            left.remove(0); // it is dispatched apart
        }
        left.extend(rest);
        vec![group.after_failure(fresh, left)]
    }

    /// Runs what follows the trusted ones, each part after a mark to which its failure goes back.
    async fn run_in_parts(
        &mut self,
        mut unit: S::Unit,
        group: &Group,
        mut kept: Vec<usize>,
        rest: &[usize],
    ) -> Vec<Group> {
        if let Err(doubt) = self.mark(&mut unit).await {
            let (in_doubt, left) = (kept, rest.to_vec());
            let lost = Lost { kept: Vec::new(), in_doubt, left, handler: None };
            return self.give_up(unit, group, lost, doubt).await;
        }
        let mut parts = match S::EMBEDDED {
            true => Parts::of_calls(self.calls(rest)),
            false => Parts::new(rest),
        };
        while let Some(mut part) = parts.next() {
            let Err(stumble) = self.run_marked(&mut unit, &mut part).await else {
                kept.extend(part);
                continue;
            };
            let Stumble { suspects, doubt, handler } = stumble;
            if doubt != Doubt::None || bounded(self.slack, unit.undo()).await.is_err() {
                let lost = Lost { kept, in_doubt: part, left: parts.into_members(), handler };
                return self.give_up(unit, group, lost, doubt).await;
            }
            if self.is_stuck() {
                break; // what ended well is committed
            }
            parts.put_back(&part[suspects.end..]);
            parts.put_back_in_halves(&part[suspects.clone()]);
            parts.put_back(&part[..suspects.start]);
        }
        self.finish(unit, group, kept).await
    }

    /// Claims a part, leaves in it what is fresh, runs that, and proves that all went well.
    async fn run_marked(
        &mut self,
        unit: &mut S::Unit,
        part: &mut Vec<usize>,
    ) -> Result<(), Stumble> {
        let of_all = |suspects: &[usize], doubt| {
            Err(Stumble { suspects: 0..suspects.len(), doubt, handler: None })
        };
        let claims = self.claims(part);
        match bounded(self.slack, unit.claim_more(&claims)).await {
            Ok(answers) => *part = self.settle(part, answers),
            Err(error) if error.fault() == Fault::Serialization => {
                return of_all(part, Doubt::Serialization);
            }
            Err(_) => return of_all(part, Doubt::None),
        }
        self.run_part(unit, part).await?;
        self.mark(unit).await.or_else(|doubt| of_all(part, doubt))
    }

    /// Proves that the transaction is ours and alive, and sets a mark.
    async fn mark(&mut self, unit: &mut S::Unit) -> Result<(), Doubt> {
        match bounded(self.slack, unit.mark()).await {
            Ok(Standing::Ours) => Ok(()),
            Ok(Standing::Escaped(escape)) => Err(Doubt::Escaped(escape)),
            Ok(Standing::Aborted) => Err(Doubt::None),
            Err(_) => Err(Doubt::Unmarked),
        }
    }

    /// Ends a transaction of which a part cannot be undone alone.
    async fn give_up(
        &mut self,
        unit: S::Unit,
        group: &Group,
        lost: Lost,
        doubt: Doubt,
    ) -> Vec<Group> {
        match (doubt, self.roll_back(unit).await) {
            (Doubt::Escaped(escape), _) | (_, Err(escape)) => {
                self.escaped(group, lost, escape).await
            }
            (Doubt::Serialization, Ok(())) => {
                let Lost { kept: mut members, in_doubt, left, .. } = lost;
                members.extend(in_doubt.into_iter().chain(left));
                self.halve(&members, true)
            }
            (Doubt::None | Doubt::Unmarked, Ok(())) => self.start_over(group, lost),
        }
    }

    /// Nothing of the transaction is durable. Those in doubt are dispatched apart, unless they are all
    /// that were trusted: those are run again in parts, to find out which.
    pub(super) fn start_over(&self, group: &Group, lost: Lost) -> Vec<Group> {
        let Lost { mut kept, in_doubt, left, .. } = lost;
        if in_doubt.is_empty() {
            kept.extend(left);
            return Group::halves(&kept);
        }
        if kept.is_empty() && group.trusted > 0 {
            let all = in_doubt.into_iter().chain(left).collect();
            return vec![group.after_failure(Vec::new(), all)];
        }
        vec![group.after_failure(kept, left)]
    }

    /// Rolls back; an error is that a handler had ended the transaction.
    pub(super) async fn roll_back(&mut self, unit: S::Unit) -> Result<(), Escape> {
        // Where there is no answer, the connection is closed, and the database rolls back.
        timeout(self.slack, unit.rollback(self.slot)).await.unwrap_or(Ok(()))
    }
}

/// Waits for the store's answer as long as it may take for one.
async fn bounded<T>(
    slack: Duration,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(slack, answer).await.unwrap_or_else(|_| Err(StoreError::silent()))
}
