//! Histories that failed once: on code that was at fault, or with a safeguard taken out, shortened.

use inbox::Fault;

use super::history::{HANDLERS, History, Step, StoreFault};
use crate::command::{End, Escape, Then};
use crate::plan::{ClaimFault, CommitFault};

pub(super) fn all() -> Vec<History> {
    let mut all = vec![
        written_outside_by_a_later_handler(),
        a_permanent_error_of_an_innocent_later_handler(),
        a_commit_by_the_last_handler(),
        a_begin_given_up_before_a_later_handler(),
        a_commit_whose_answer_is_lost(),
        a_race_of_a_message_that_hangs(),
    ];
    all.extend((0..40).step_by(4).map(abandoned_between_two_others));
    all
}

fn one(ends: [End; HANDLERS], steps: Vec<Step>) -> History {
    History { connections: 2, messages: vec![ends], steps }
}

/// The second handler's effect was durable without a dedup row.
fn written_outside_by_a_later_handler() -> History {
    let first = End::Escape(Escape::Rollback, Then::Ok);
    one([first, End::Ok, End::Error], vec![Step::Deliver(0), Step::Deliver(0)])
}

/// The second was blamed for what the first had done.
fn a_permanent_error_of_an_innocent_later_handler() -> History {
    let ends = [End::SwallowFailedStatement, End::Permanent, End::Ok];
    one(ends, vec![Step::Deliver(0), Step::Mend(0), Step::Deliver(0)])
}

fn a_commit_by_the_last_handler() -> History {
    let last = End::Escape(Escape::CommitBegin, Then::Ok);
    one([End::Ok, End::Ok, last], vec![Step::Deliver(0), Step::Deliver(0)])
}

fn a_begin_given_up_before_a_later_handler() -> History {
    let ends = [End::Ok, End::GiveUpBegin, End::Ok];
    one(ends, vec![Step::Deliver(0), Step::Race(0, 2)])
}

fn a_commit_whose_answer_is_lost() -> History {
    let faults = [CommitFault::UnknownRolledBack, CommitFault::UnknownCommitted];
    let mut steps = vec![Step::DeliverWhere(0, StoreFault::Claim(ClaimFault::Fails(Fault::Other)))];
    steps.extend(faults.map(|fault| Step::DeliverWhere(0, StoreFault::Commit(fault))));
    steps.push(Step::Deliver(0));
    one([End::Ok, End::ConfineFailedStatement, End::Ok], steps)
}

fn a_race_of_a_message_that_hangs() -> History {
    let ends = [End::Ok, End::Hang, End::Ok];
    one(ends, vec![Step::Race(0, 3), Step::Deliver(0), Step::Mend(0), Step::Race(0, 3)])
}

/// The connection of the abandoned dispatch carried its claim into the next message's transaction.
fn abandoned_between_two_others(polls: u32) -> History {
    let messages =
        vec![[End::Ok, End::Ok, End::Ok], [End::Ok, End::LeakSavepoint(Then::Ok), End::Ok]];
    let steps = vec![Step::Abandon(0, polls), Step::Deliver(1), Step::Deliver(0), Step::Cut];
    History { connections: 2, messages, steps }
}
