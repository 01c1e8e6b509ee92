//! [`Plan`]: which failures a [`Faulty`](crate::Faulty) store is to inject, and what it has seen.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use inbox::{Escape, Fault, StoreError};
use tokio::sync::Semaphore;

/// How a claim, or a look-up, fails.
#[derive(Clone, Copy, Debug)]
pub enum ClaimFault {
    /// It is none: the store below answers.
    None,
    /// With an error of this kind.
    Fails(Fault),
    /// It says that a twin is in flight.
    InFlight,
    /// It never answers, and the runtime's clock moves to the dispatch's deadline.
    Stalls,
    /// Another batch of the consumer is at work. Of batches only.
    LaneBusy,
}

/// How a commit fails.
#[derive(Clone, Copy, Debug)]
pub enum CommitFault {
    /// The database rolls back and says so.
    Refused(Fault),
    /// Rolled back, but the answer is lost.
    UnknownRolledBack,
    /// Committed, but the answer is lost.
    UnknownCommitted,
    /// Committed, and then silence.
    StallsCommitted,
    /// Rolled back, and then silence.
    StallsRolledBack,
    /// The database had aborted the transaction.
    Aborted,
    /// A handler had ended the transaction.
    Escaped(Escape),
}

/// Shared by a test and its [`Faulty`](crate::Faulty) store.
#[derive(Clone, Debug, Default)]
pub struct Plan(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    claims: Mutex<VecDeque<ClaimFault>>,
    finds: Mutex<VecDeque<ClaimFault>>,
    commits: Mutex<VecDeque<CommitFault>>,
    counts: Mutex<VecDeque<ClaimFault>>,
    put_aways: Mutex<VecDeque<ClaimFault>>,
    calls: Mutex<Vec<&'static str>>,
    held: Mutex<Vec<bool>>,
    open: AtomicUsize,
    claimed: Semaphore,
    rollback_stalls: AtomicBool,
    probe_stalls: AtomicBool,
    marks: Mutex<VecDeque<bool>>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            claims: Mutex::default(),
            finds: Mutex::default(),
            commits: Mutex::default(),
            counts: Mutex::default(),
            put_aways: Mutex::default(),
            calls: Mutex::default(),
            held: Mutex::default(),
            open: AtomicUsize::new(0),
            claimed: Semaphore::new(0),
            rollback_stalls: AtomicBool::new(false),
            probe_stalls: AtomicBool::new(false),
            marks: Mutex::default(),
        }
    }
}

/// For the test.
impl Plan {
    /// The next claims fail so, one after another; those after them do not.
    pub fn claims(&self, faults: impl IntoIterator<Item = ClaimFault>) {
        self.0.claims.lock().unwrap().extend(faults);
    }

    /// No further claim fails.
    pub fn claims_succeed(&self) {
        self.0.claims.lock().unwrap().clear();
    }

    /// The next look-ups fail so.
    pub fn finds(&self, faults: impl IntoIterator<Item = ClaimFault>) {
        self.0.finds.lock().unwrap().extend(faults);
    }

    /// The next commits fail so.
    pub fn commits(&self, faults: impl IntoIterator<Item = CommitFault>) {
        self.0.commits.lock().unwrap().extend(faults);
    }

    /// The next tries that are to be counted fail so.
    pub fn counts(&self, faults: impl IntoIterator<Item = ClaimFault>) {
        self.0.counts.lock().unwrap().extend(faults);
    }

    /// The next dead letters that are to be put away fail so.
    pub fn put_aways(&self, faults: impl IntoIterator<Item = ClaimFault>) {
        self.0.put_aways.lock().unwrap().extend(faults);
    }

    /// What was to fail and has not is forgotten.
    pub fn clear(&self) {
        self.0.claims.lock().unwrap().clear();
        self.0.finds.lock().unwrap().clear();
        self.0.commits.lock().unwrap().clear();
    }

    /// The next rollback is never answered.
    pub fn stall_next_rollback(&self) {
        self.0.rollback_stalls.store(true, Ordering::SeqCst);
    }

    /// The next proof between handlers is never answered.
    pub fn stall_next_probe(&self) {
        self.0.probe_stalls.store(true, Ordering::SeqCst);
    }

    /// For each of the next marks: whether it is set and its answer is lost.
    pub fn marks_unanswered(&self, unanswered: impl IntoIterator<Item = bool>) {
        self.0.marks.lock().unwrap().extend(unanswered);
    }

    /// What the dispatcher has asked of the store, in that order.
    pub fn calls(&self) -> Vec<&'static str> {
        self.0.calls.lock().unwrap().clone()
    }

    /// For each claim, of one message or of many, whether a connection was held when it was asked for.
    pub fn held_at_claims(&self) -> Vec<bool> {
        self.0.held.lock().unwrap().clone()
    }

    /// How many units of work, each with its connection, are open now.
    pub fn open(&self) -> usize {
        self.0.open.load(Ordering::SeqCst)
    }

    /// Waits until a claim has been asked for.
    pub async fn claim_asked(&self) {
        self.0.claimed.acquire().await.unwrap().forget();
    }
}

/// For the store.
impl Plan {
    pub(crate) fn next_claim(&self, holds: bool) -> ClaimFault {
        self.called("claim");
        self.0.held.lock().unwrap().push(holds);
        self.0.claimed.add_permits(1);
        self.0.claims.lock().unwrap().pop_front().unwrap_or(ClaimFault::None)
    }

    /// The same for a batch.
    pub(crate) fn next_open(&self, holds: bool) -> ClaimFault {
        self.called("open");
        self.0.held.lock().unwrap().push(holds);
        self.0.claimed.add_permits(1);
        self.0.claims.lock().unwrap().pop_front().unwrap_or(ClaimFault::None)
    }

    pub(crate) fn next_find(&self) -> ClaimFault {
        self.called("find");
        self.0.finds.lock().unwrap().pop_front().unwrap_or(ClaimFault::None)
    }

    pub(crate) fn next_count(&self) -> ClaimFault {
        self.called("count");
        self.0.counts.lock().unwrap().pop_front().unwrap_or(ClaimFault::None)
    }

    pub(crate) fn next_put_away(&self) -> ClaimFault {
        self.called("put away");
        self.0.put_aways.lock().unwrap().pop_front().unwrap_or(ClaimFault::None)
    }

    pub(crate) fn next_commit(&self) -> Option<CommitFault> {
        self.called("commit");
        self.0.commits.lock().unwrap().pop_front()
    }

    pub(crate) fn probe_stalls(&self) -> bool {
        self.called("probe");
        self.0.probe_stalls.swap(false, Ordering::SeqCst)
    }

    pub(crate) fn mark_is_unanswered(&self) -> bool {
        self.called("mark");
        self.0.marks.lock().unwrap().pop_front().unwrap_or(false)
    }

    pub(crate) fn rollback_stalls(&self) -> bool {
        self.called("rollback");
        self.0.rollback_stalls.swap(false, Ordering::SeqCst)
    }

    pub(crate) fn called(&self, what: &'static str) {
        self.0.calls.lock().unwrap().push(what);
    }

    pub(crate) fn opened(&self) -> Open {
        self.0.open.fetch_add(1, Ordering::SeqCst);
        Open(self.clone())
    }
}

/// Counts one open unit of work.
#[derive(Debug)]
pub(crate) struct Open(Plan);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A driver's error as [`Faulty`](crate::Faulty) knows it.
#[derive(Debug)]
pub struct Injected(pub(crate) Fault);

impl Injected {
    pub(crate) fn serialization() -> Self {
        Self(Fault::Serialization)
    }

    pub(crate) fn error(fault: Fault) -> StoreError {
        StoreError::new(fault, "injected").with_source(Self(fault))
    }
}

impl fmt::Display for Injected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an injected failure")
    }
}

impl Error for Injected {}
