//! [`Faulty`]: a store that fails on demand, around the one under test.

use std::error::Error;
use std::future::pending;
use std::time::Duration;

use inbox::{
    BatchClaim, Claim, Claimed, ClaimedBatch, CommitError, Escape, Fault, InboxStore, MessageId,
    PairAnswer, Recorded, Slot, Standing, StoreError, UnitOfWork,
};

use crate::clock::outlive;
use crate::plan::{ClaimFault, CommitFault, Injected, Open, Plan};

/// Longer than any deadline of the suite.
const FOR_EVER: Duration = Duration::from_secs(24 * 60 * 60);

/// Fails as its [`Plan`] says, and does as the store below it otherwise.
#[derive(Debug)]
pub struct Faulty<S> {
    pub(crate) store: S,
    pub(crate) plan: Plan,
}

/// A unit of work of [`Faulty`].
#[derive(Debug)]
pub struct FaultyUnit<U> {
    unit: U,
    plan: Plan,
    open: Open,
}

impl<S> Faulty<S> {
    pub fn new(store: S, plan: &Plan) -> Self {
        Self { store, plan: plan.clone() }
    }
}

impl<S: InboxStore> InboxStore for Faulty<S> {
    type Connection = S::Connection;
    type Unit = FaultyUnit<S::Unit>;
    type Held = S::Held;
    const NAME: &'static str = S::NAME;
    const BATCH_LIMIT: usize = S::BATCH_LIMIT;
    const EMBEDDED: bool = S::EMBEDDED;

    async fn check(&self) -> Result<Vec<String>, StoreError> {
        self.store.check().await
    }

    async fn claim(
        &self,
        claim: Claim<'_>,
        slot: &mut Slot<Self::Held>,
    ) -> Result<Claimed<Self::Unit>, StoreError> {
        match self.plan.next_claim(!slot.is_empty()) {
            ClaimFault::None => {}
            ClaimFault::Fails(fault) => return Err(Injected::error(fault)),
            ClaimFault::InFlight | ClaimFault::LaneBusy => return Ok(Claimed::InFlight),
            ClaimFault::Stalls => outlive(FOR_EVER).await,
        }
        Ok(match self.store.claim(claim, slot).await? {
            Claimed::Fresh(unit) => {
                let (plan, open) = (self.plan.clone(), self.plan.opened());
                Claimed::Fresh(FaultyUnit { unit, plan, open })
            }
            Claimed::Duplicate(recorded) => Claimed::Duplicate(recorded),
            Claimed::InFlight => Claimed::InFlight,
        })
    }

    async fn open_batch(
        &self,
        batch: BatchClaim<'_>,
        slot: &mut Slot<Self::Held>,
    ) -> Result<ClaimedBatch<Self::Unit>, StoreError> {
        let fault = self.plan.next_open(!slot.is_empty());
        match fault {
            ClaimFault::None | ClaimFault::InFlight => {}
            ClaimFault::Fails(fault) => return Err(Injected::error(fault)),
            ClaimFault::LaneBusy => {
                return Ok(ClaimedBatch::Busy(batch.claims.iter().map(|_| None).collect()));
            }
            ClaimFault::Stalls => outlive(FOR_EVER).await,
        }
        let in_flight = matches!(fault, ClaimFault::InFlight);
        let claims = if in_flight { &[] } else { batch.claims };
        Ok(match self.store.open_batch(BatchClaim { claims, ..batch }, slot).await? {
            ClaimedBatch::Open(unit, answers) => {
                let (plan, open) = (self.plan.clone(), self.plan.opened());
                let held = batch.claims.iter().map(|_| PairAnswer::InFlight);
                let answers = if in_flight { held.collect() } else { answers };
                ClaimedBatch::Open(FaultyUnit { unit, plan, open }, answers)
            }
            ClaimedBatch::Busy(recorded) => ClaimedBatch::Busy(recorded),
        })
    }

    async fn find(
        &self,
        consumer: &str,
        message_id: MessageId,
    ) -> Result<Option<Recorded>, StoreError> {
        happens(self.plan.next_find()).await?;
        self.store.find(consumer, message_id).await
    }

    fn fault_in(&self, error: &(dyn Error + 'static)) -> Option<Fault> {
        match error.downcast_ref() {
            Some(Injected(fault)) => Some(*fault),
            None => self.store.fault_in(error),
        }
    }
}

/// Of what cannot be won or lost.
pub(crate) async fn happens(fault: ClaimFault) -> Result<(), StoreError> {
    match fault {
        ClaimFault::Fails(fault) => return Err(Injected::error(fault)),
        ClaimFault::Stalls => outlive(FOR_EVER).await,
        ClaimFault::None | ClaimFault::InFlight | ClaimFault::LaneBusy => {}
    }
    Ok(())
}

impl<U: UnitOfWork> UnitOfWork for FaultyUnit<U> {
    type Connection = U::Connection;
    type Held = U::Held;

    fn connection(&mut self) -> &mut Self::Connection {
        self.unit.connection()
    }

    async fn probe(&mut self) -> Result<Standing, StoreError> {
        if self.plan.probe_stalls() {
            outlive(FOR_EVER).await;
        }
        self.unit.probe().await
    }

    fn is_due_for_a_probe(&self) -> bool {
        self.unit.is_due_for_a_probe()
    }

    async fn mark(&mut self) -> Result<Standing, StoreError> {
        let unanswered = self.plan.mark_is_unanswered();
        let standing = self.unit.mark().await?;
        if unanswered {
            outlive(FOR_EVER).await;
        }
        Ok(standing)
    }

    async fn claim_more(&mut self, claims: &[Claim<'_>]) -> Result<Vec<PairAnswer>, StoreError> {
        self.plan.called("claim more");
        self.unit.claim_more(claims).await
    }

    async fn undo(&mut self) -> Result<(), StoreError> {
        self.plan.called("undo");
        self.unit.undo().await
    }

    async fn commit(self, slot: &mut Slot<U::Held>) -> Result<(), CommitError> {
        let Self { unit, plan, open } = self;
        let answer = match plan.next_commit() {
            None => unit.commit(slot).await,
            Some(CommitFault::Refused(fault)) => {
                rolled_back(unit, slot).await?;
                Err(CommitError::Refused(Injected::error(fault)))
            }
            Some(CommitFault::UnknownRolledBack) => {
                rolled_back(unit, slot).await?;
                Err(CommitError::Unknown(Injected::error(Fault::Other)))
            }
            Some(CommitFault::UnknownCommitted) => {
                unit.commit(slot).await?;
                Err(CommitError::Unknown(Injected::error(Fault::Other)))
            }
            Some(CommitFault::StallsCommitted) => {
                unit.commit(slot).await?;
                silence().await
            }
            Some(CommitFault::StallsRolledBack) => {
                rolled_back(unit, slot).await?;
                silence().await
            }
            Some(CommitFault::Aborted) => {
                rolled_back(unit, slot).await?;
                Err(CommitError::Aborted)
            }
            Some(CommitFault::Escaped(escape)) => {
                rolled_back(unit, slot).await?;
                Err(CommitError::Escaped(escape))
            }
        };
        drop(open);
        answer
    }

    async fn rollback(self, slot: &mut Slot<U::Held>) -> Result<(), Escape> {
        let Self { unit, plan, open } = self;
        if plan.rollback_stalls() {
            outlive(FOR_EVER).await;
        }
        let answer = unit.rollback(slot).await;
        drop(open);
        answer
    }
}

/// A handler that had ended the transaction is told of rather than the failure that was to be injected.
async fn rolled_back<U: UnitOfWork>(unit: U, slot: &mut Slot<U::Held>) -> Result<(), CommitError> {
    unit.rollback(slot).await.map_err(CommitError::Escaped)
}

/// Silence, in which more than the time for the COMMIT passes and less than the whole deadline.
async fn silence<T>() -> T {
    outlive(crate::bench::DEADLINE.mul_f64(0.8)).await;
    pending().await
}
