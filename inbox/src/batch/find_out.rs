//! The end of a transaction: its commit, and what became of one that nobody answered for.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::Batch;
use super::group::Group;
use super::transaction::Lost;
use crate::backoff::Backoff;
use crate::batch_claim::{ClaimedBatch, PairAnswer};
use crate::dispatch::from_now;
use crate::duplicate;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::store::{CommitError, Escape, Fault, InboxStore, Recorded, StoreError, UnitOfWork};
use crate::telemetry;

/// Which rows are there.
#[derive(Default)]
struct Found {
    there: Vec<(usize, Recorded)>,
    absent: Vec<usize>,
    /// Nobody can say.
    unknown: Vec<usize>,
}

impl<S: InboxStore> Batch<'_, S> {
    /// Commits what ended well.
    pub(super) async fn finish(
        &mut self,
        unit: S::Unit,
        group: &Group,
        kept: Vec<usize>,
    ) -> Vec<Group> {
        if kept.is_empty() {
            // Nothing was claimed, or all of it was undone.
            let _ = self.roll_back(unit).await;
            return Vec::new();
        }
        // Some of the time is kept for finding out what became of a COMMIT without an answer.
        let (until, limit) = (from_now(self.slack), from_now(self.slack / 10 * 7));
        match timeout_at(limit, unit.commit(self.slot)).await {
            Ok(Ok(())) => {
                self.processed(&kept);
                Vec::new()
            }
            Ok(Err(CommitError::Aborted)) if group.trusted > 0 => {
                vec![group.after_failure(Vec::new(), kept)]
            }
            Ok(Err(CommitError::Aborted)) => self.halve(&kept, false),
            // One of them may be the cause, such as a row that a deferred constraint refuses.
            Ok(Err(CommitError::Refused(error))) => {
                self.halve(&kept, error.fault() == Fault::Serialization)
            }
            Ok(Err(CommitError::Escaped(escape))) => {
                let in_doubt = kept;
                let lost = Lost { kept: Vec::new(), in_doubt, left: Vec::new(), handler: None };
                self.escaped(group, lost, escape).await
            }
            Ok(Err(CommitError::Unknown(cause))) => self.find_out(kept, Some(cause), until).await,
            Err(_) => self.find_out(kept, None, until).await,
        }
    }

    fn processed(&mut self, members: &[usize]) {
        for &member in members {
            self.answer(member, Ok(Outcome::Processed));
        }
    }

    /// A row is there after a commit of ours that may have been made; one of another message under this
    /// id is not ours.
    fn durable(&mut self, member: usize, recorded: Recorded) {
        let envelope = self.members[member].envelope;
        match duplicate::difference(self.consumer, envelope, &recorded) {
            None => self.answer(member, Ok(Outcome::Processed)),
            Some(_) => self.answer_duplicate(member, recorded),
        }
    }

    /// Whether a COMMIT without an answer is durable. What is not, is run again.
    async fn find_out(
        &mut self,
        kept: Vec<usize>,
        cause: Option<StoreError>,
        until: Instant,
    ) -> Vec<Group> {
        telemetry::batch_commit_unknown(self.consumer.name, kept.len());
        let found = self.look_up(kept, until).await;
        for (member, recorded) in found.there {
            self.durable(member, recorded);
        }
        for &member in &found.unknown {
            self.answer(member, Err(Failure::CommitUnknown { cause: cause.clone() }));
        }
        self.halve(&found.absent, false)
    }

    /// Claims them anew, all at once, as a single dispatch does: a row there is durable, a claim that is
    /// won says that there was none. A pair still held is asked for again.
    async fn look_up(&mut self, members: Vec<usize>, until: Instant) -> Found {
        let mut found = Found { unknown: members, ..Found::default() };
        let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));
        while !found.unknown.is_empty() && Instant::now() < until {
            let claims = self.claims(&found.unknown);
            let asked = timeout_at(until, self.open_batch(&found.unknown, &claims, false)).await;
            if let Ok(Ok(ClaimedBatch::Open(unit, answers))) = asked {
                // Our own fresh claims: no handler ran in them, so nothing can have escaped.
                let _ = self.roll_back(unit).await;
                for (member, answer) in std::mem::take(&mut found.unknown).into_iter().zip(answers)
                {
                    match answer {
                        PairAnswer::Duplicate(recorded) => found.there.push((member, recorded)),
                        PairAnswer::Fresh => found.absent.push(member),
                        PairAnswer::InFlight => found.unknown.push(member),
                    }
                }
            }
            if !found.unknown.is_empty() {
                self.wait(backoff.next()).await;
            }
        }
        found
    }

    /// A handler ended the transaction. Where that was a COMMIT, the rows that are there are durable:
    /// those of the messages that had ended well before are processed, and the others are told that
    /// someone among them escaped.
    pub(super) async fn escaped(
        &mut self,
        group: &Group,
        lost: Lost,
        escape: Escape,
    ) -> Vec<Group> {
        if escape != Escape::Committed {
            return self.start_over(group, lost);
        }
        let Lost { kept, in_doubt, left, handler } = lost;
        let alone = in_doubt.len() == 1;
        let handler = match in_doubt[..] {
            [only] => handler.or_else(|| self.only_handler(only)),
            _ => None,
        };
        let until = from_now(self.slack);
        let found = self.look_up([kept.as_slice(), &in_doubt].concat(), until).await;
        for (member, recorded) in found.there {
            match kept.contains(&member) {
                true => self.durable(member, recorded),
                false => self.answer_escaped(member, handler, escape),
            }
        }
        for member in found.unknown {
            match alone && in_doubt.contains(&member) {
                true => self.answer_escaped(member, handler, escape),
                false => self.answer(member, Err(Failure::CommitUnknown { cause: None })),
            }
        }
        let kept = found.absent.into_iter().filter(|member| kept.contains(member)).collect();
        vec![group.after_failure(kept, left)]
    }

    /// Of several handlers of one message it is not certain who it was.
    fn only_handler(&self, member: usize) -> Option<&'static str> {
        match self.members[member].route.handlers.as_slice() {
            [only] => Some(only.name),
            _ => None,
        }
    }

    fn answer_escaped(&mut self, member: usize, handler: Option<&'static str>, escape: Escape) {
        telemetry::escaped(self.consumer.name, self.members[member].message_id, handler, escape);
        self.answer(member, Err(Failure::TransactionEscaped { handler, escape }));
    }
}
