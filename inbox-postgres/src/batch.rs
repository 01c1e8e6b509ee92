//! The claims of a batch: many pairs in one statement.

use std::collections::HashMap;

use inbox::{
    Claim, ClaimedBatch, Envelope, Fault, Fingerprint, PairAnswer, Recorded, Slot, StoreError,
};
use sqlx::postgres::PgArguments;
use sqlx::query::QueryAs;
use sqlx::types::Uuid;
use sqlx::types::time::OffsetDateTime;
use sqlx::{PgConnection, Postgres};

use crate::error::store_error;
use crate::lease::PgHeld;
use crate::sql::{Statements, Text, safe};
use crate::store::Options;
use crate::told::{Told, recorded};
use crate::unit::PgUnit;

/// How many messages a transaction claims at most: each takes a place in the server's table of locks,
/// which has 64 for each connection it allows.
pub(crate) const LIMIT: usize = 500;

/// The dedup rows of a batch's transaction.
#[derive(Debug)]
pub(crate) struct Many {
    options: Options,
    pub(crate) consumer: &'static str,
    /// Those that were inserted.
    pub(crate) ids: Vec<Uuid>,
    /// How many of them stay when it goes back to the mark, where one is set.
    pub(crate) marked: Option<usize>,
}

/// What is asked for besides the claims.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    /// The consumer's lane.
    pub(crate) exclusive: bool,
    /// In milliseconds.
    pub(crate) statement_limit: i32,
    pub(crate) idle_limit: i32,
}

/// What opening says.
pub(crate) enum Opened {
    Claimed(Vec<PairAnswer>),
    /// The lane is another batch's.
    Busy(Vec<Option<Recorded>>),
}

/// Whose claim it is, whether it is won, and what is told of the row that is there. The first line is
/// nobody's: whether there was a lane.
type Line = (Option<Uuid>, bool, Option<Told>);

/// What is said of a claim that is not won.
type Lost = HashMap<Uuid, Option<Recorded>>;

impl Many {
    pub(crate) fn new(options: Options, consumer: &'static str) -> Self {
        Self { options, consumer, ids: Vec::new(), marked: None }
    }

    pub(crate) async fn open(
        &mut self,
        statements: &Statements,
        connection: &mut PgConnection,
        claims: &[Claim<'_>],
        ask: Ask,
    ) -> Result<Opened, StoreError> {
        let query = self.query(&statements.open_batch, claims);
        let query = query.bind(ask.exclusive).bind(ask.statement_limit).bind(ask.idle_limit);
        let (lane, fresh, mut lost) = ask_for(query, claims, connection).await?;
        if lane {
            return Ok(Opened::Claimed(self.answers(claims, &fresh, lost)));
        }
        let known = |claim: &Claim<'_>| lost.remove(&claim.message_id.as_uuid()).flatten();
        Ok(Opened::Busy(claims.iter().map(known).collect()))
    }

    pub(crate) async fn claim_more(
        &mut self,
        statements: &Statements,
        connection: &mut PgConnection,
        claims: &[Claim<'_>],
    ) -> Result<Vec<PairAnswer>, StoreError> {
        let query = self.query(&statements.claim_more, claims);
        let (_, fresh, lost) = ask_for(query, claims, connection).await?;
        Ok(self.answers(claims, &fresh, lost))
    }

    /// Each column is one array; one that is not kept is none.
    fn query<'q>(
        &self,
        text: &Text,
        claims: &'q [Claim<'q>],
    ) -> QueryAs<'q, Postgres, Line, PgArguments> {
        let Options { audit, fingerprint, named_statements, .. } = self.options;
        let envelopes = || claims.iter().map(|claim| claim.envelope);
        let ids: Vec<Uuid> = claims.iter().map(|claim| claim.message_id.as_uuid()).collect();
        let event_types: Vec<&str> = envelopes().map(Envelope::event_type).collect();
        let sources: Option<Vec<Option<&str>>> =
            audit.then(|| envelopes().map(Envelope::source).collect());
        let times: Option<Vec<Option<OffsetDateTime>>> =
            audit.then(|| envelopes().map(Envelope::occurred_at).collect());
        let correlations: Option<Vec<Option<&str>>> =
            audit.then(|| envelopes().map(Envelope::correlation_id).collect());
        let causations: Option<Vec<Option<&str>>> =
            audit.then(|| envelopes().map(Envelope::causation_id).collect());
        let print = |envelope: &Envelope| Fingerprint::of(envelope.payload()).0.to_vec();
        let fingerprints: Option<Vec<Vec<u8>>> =
            fingerprint.then(|| envelopes().map(print).collect());
        sqlx::query_as(safe(text))
            .bind(self.consumer)
            .bind(ids)
            .bind(event_types)
            .bind(sources)
            .bind(times)
            .bind(correlations)
            .bind(causations)
            .bind(fingerprints)
            .persistent(named_statements)
    }

    /// One for each claim. Whoever has the lock: what can be seen is committed, and what cannot be seen
    /// is a twin's.
    fn answers(&mut self, claims: &[Claim<'_>], fresh: &[Uuid], mut lost: Lost) -> Vec<PairAnswer> {
        self.ids.extend(fresh);
        let answer = |claim: &Claim<'_>| match lost.remove(&claim.message_id.as_uuid()) {
            None => PairAnswer::Fresh,
            Some(Some(recorded)) => PairAnswer::Duplicate(recorded),
            Some(None) => PairAnswer::InFlight,
        };
        claims.iter().map(answer).collect()
    }
}

/// Whether there was a lane, the ids that are fresh, and the others.
async fn ask_for(
    query: QueryAs<'_, Postgres, Line, PgArguments>,
    claims: &[Claim<'_>],
    connection: &mut PgConnection,
) -> Result<(bool, Vec<Uuid>, Lost), StoreError> {
    let claiming = |error| store_error("claiming messages of a batch", error);
    let lines = query.fetch_all(connection).await.map_err(claiming)?;
    let (mut lane, mut fresh, mut lost) = (false, Vec::with_capacity(lines.len()), Lost::new());
    for line in lines {
        match line {
            (None, got, _) => lane = got,
            (Some(id), true, _) => fresh.push(id),
            (Some(id), false, told) => {
                lost.insert(id, told.map(recorded).transpose()?.flatten());
            }
        }
    }
    if fresh.len() + lost.len() != claims.len() {
        let message = "claiming messages of a batch: not each was answered";
        return Err(StoreError::new(Fault::Other, message));
    }
    Ok((lane, fresh, lost))
}

/// Opens a batch in a transaction of its own.
pub(crate) async fn open_in(
    mut unit: PgUnit,
    claims: &[Claim<'_>],
    ask: Ask,
    slot: &mut Slot<PgHeld>,
) -> Result<ClaimedBatch<PgUnit>, StoreError> {
    match unit.open_batch(claims, ask).await {
        Ok(Opened::Claimed(answers)) => Ok(ClaimedBatch::Open(unit, answers)),
        Ok(Opened::Busy(recorded)) => {
            unit.close(slot).await?;
            Ok(ClaimedBatch::Busy(recorded))
        }
        Err(error) => {
            // Its failure would hide why the claims failed.
            let _ = unit.close(slot).await;
            Err(error)
        }
    }
}
