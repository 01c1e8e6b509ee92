//! What a history is made of.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use inbox::Fault;

use crate::command::{End, Escape, Then};
use crate::harness::Harness;
use crate::plan::{ClaimFault, CommitFault};

/// How many handlers the event has.
pub(super) const HANDLERS: usize = 3;

/// A few messages, and what happens to them.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// Of the pool.
    pub(super) connections: u32,
    /// For each message, how its handlers end.
    pub(super) messages: Vec<[End; HANDLERS]>,
    pub(super) steps: Vec<Step>,
}

/// One thing that happens. A message is named by its place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// It is delivered, or delivered again.
    Deliver(usize),
    /// So many deliveries at once.
    Race(usize, usize),
    /// Its dispatch is dropped after so many polls.
    Abandon(usize, u32),
    /// It is delivered, and the store fails so.
    DeliverWhere(usize, StoreFault),
    /// All connections are cut when its dispatch has been polled so often.
    CutDuring(usize, u32),
    /// All connections are cut while nothing happens.
    Cut,
    /// Whatever was wrong with it, its handlers end well from now on.
    Mend(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum StoreFault {
    Claim(ClaimFault),
    Commit(CommitFault),
}

pub(super) fn history<H: Harness>() -> impl Strategy<Value = History> {
    // A worker keeps one for itself.
    let connections = if H::THROUGH_WORKERS { 2..=3u32 } else { 1..=3 };
    vec(message::<H>(), 1..4).prop_flat_map(move |messages| {
        let steps = vec(step::<H>(messages.len()), 1..10);
        (connections.clone(), Just(messages), steps)
            .prop_map(|(connections, messages, steps)| History { connections, messages, steps })
    })
}

fn message<H: Harness>() -> impl Strategy<Value = [End; HANDLERS]> {
    let ends = prop_oneof![6 => Just(End::Ok), 4 => end::<H>()];
    [ends.clone(), ends.clone(), ends].prop_filter("two that tread on each other", |ends| {
        let has = |what: fn(&End) -> bool| ends.iter().any(what);
        let leaks = has(|end| matches!(end, End::LeakSavepoint(_)));
        let gives_up = has(|end| matches!(end, End::GiveUpBegin | End::GiveUpBeginAndWrite));
        let escapes = has(|end| matches!(end, End::Escape(..)));
        let defers = has(|end| matches!(end, End::DeferredViolation));
        // sqlx's count of savepoints is wrong after a leak, and after a begin that was given up; and
        // SQLite leaves a transaction open whose COMMIT fails for a deferred constraint.
        !(leaks && gives_up || defers && escapes)
    })
}

fn end<H: Harness>() -> impl Strategy<Value = End> + Clone {
    let plain = vec![
        End::Error,
        End::Permanent,
        End::PermanentBehindLayers,
        End::Panic,
        End::PanicWithoutText,
        End::Hang,
        End::SwallowFailedStatement,
        End::ConfineFailedStatement,
        End::SerializationFailure,
        End::PermanentSerializationFailure,
        End::UniqueViolation,
        End::DeferredViolation,
        End::SeeOwnDedupRow,
        End::LoseConnection,
        End::GiveUpBegin,
        End::GiveUpBeginAndWrite,
    ];
    let escapes: Vec<_> = Escape::ALL.into_iter().filter(|how| how.is_sql_of::<H>()).collect();
    let then = || select(Then::ALL.to_vec());
    prop_oneof![
        5 => select(plain),
        2 => (select(escapes), then()).prop_map(|(how, then)| End::Escape(how, then)),
        1 => then().prop_map(End::LeakSavepoint),
    ]
}

fn step<H: Harness>(messages: usize) -> impl Strategy<Value = Step> {
    let polls = 0..60u32;
    let cuts = u32::from(H::FEATURES.connections.is_some());
    (0..messages).prop_flat_map(move |message| {
        prop_oneof![
            6 => Just(Step::Deliver(message)),
            2 => (2..4usize).prop_map(move |twins| Step::Race(message, twins)),
            3 => polls.clone().prop_map(move |polls| Step::Abandon(message, polls)),
            3 => store_fault().prop_map(move |fault| Step::DeliverWhere(message, fault)),
            2 * cuts => polls.clone().prop_map(move |polls| Step::CutDuring(message, polls)),
            cuts => Just(Step::Cut),
            1 => Just(Step::Mend(message)),
        ]
    })
}

fn store_fault() -> impl Strategy<Value = StoreFault> {
    let claims = vec![
        ClaimFault::Fails(Fault::Serialization),
        ClaimFault::Fails(Fault::Busy),
        ClaimFault::Fails(Fault::Other),
        ClaimFault::InFlight,
    ];
    let commits = vec![
        CommitFault::Refused(Fault::Serialization),
        CommitFault::Refused(Fault::Other),
        CommitFault::UnknownRolledBack,
        CommitFault::UnknownCommitted,
        CommitFault::StallsCommitted,
        CommitFault::StallsRolledBack,
    ];
    prop_oneof![
        1 => select(claims).prop_map(StoreFault::Claim),
        2 => select(commits).prop_map(StoreFault::Commit),
    ]
}
