//! What a store claims for a batch, and what it answers.

use std::time::Duration;

use crate::store::{Claim, Recorded};

/// Many messages of one consumer, for one transaction.
#[derive(Clone, Copy, Debug)]
pub struct BatchClaim<'a> {
    /// Half of every dedup key.
    pub consumer: &'static str,
    /// What to claim at once, in the order of delivery: each pair once, and no more than the store's
    /// [`BATCH_LIMIT`](crate::InboxStore::BATCH_LIMIT). Where it is empty, the transaction is only
    /// opened.
    pub claims: &'a [Claim<'a>],
    /// Whether no other exclusive batch of this consumer may be open meanwhile, in any process.
    pub exclusive: bool,
    /// How long the handlers of one message may run at most: what a bound on an idle transaction must
    /// exceed.
    pub run_limit: Duration,
    /// How long the slowest handler may run: what a bound on one statement need not exceed.
    pub statement_limit: Duration,
}

/// The answer to a batch of claims.
#[derive(Debug)]
pub enum ClaimedBatch<U> {
    /// The transaction is open and holds the fresh ones; the dispatcher ends it, also where nothing is
    /// fresh. One answer for each claim, in their order.
    Open(U, Vec<PairAnswer>),
    /// Another exclusive batch of this consumer is open, so nothing was claimed, and no transaction is
    /// left open. For each claim, in their order, the row that is there already.
    Busy(Vec<Option<Recorded>>),
}

/// The answer for one pair of a batch.
#[derive(Debug)]
pub enum PairAnswer {
    /// The row is new: the handlers may run in the batch's unit of work.
    Fresh,
    /// The pair was processed before.
    Duplicate(Recorded),
    /// Another delivery of the pair holds it and has not ended.
    InFlight,
}
