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
    /// When the transaction began, by the server's clock: the time that its rows have.
    pub(crate) opened_at: Option<OffsetDateTime>,
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
/// nobody's: whether there was a lane, and when the transaction began.
type Line = (Option<Uuid>, bool, Option<Told>, Option<OffsetDateTime>);

/// What the claims of one statement are answered.
struct Asked {
    lane: bool,
    opened_at: Option<OffsetDateTime>,
    fresh: Vec<Uuid>,
    /// What is said of a claim that is not won.
    lost: HashMap<Uuid, Option<Recorded>>,
}

impl Many {
    pub(crate) fn new(options: Options, consumer: &'static str) -> Self {
        Self { options, consumer, ids: Vec::new(), marked: None, opened_at: None }
    }

    /// Whether what is set for the session meets all statements of the batch and none of others.
    pub(crate) fn has_the_session(&self) -> bool {
        self.options.sessions_are_ours
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
        let mut asked = ask_for(query, claims, connection).await?;
        self.opened_at = asked.opened_at;
        if asked.lane {
            return Ok(Opened::Claimed(self.answers(claims, asked)));
        }
        let known = |claim: &Claim<'_>| asked.lost.remove(&claim.message_id.as_uuid()).flatten();
        Ok(Opened::Busy(claims.iter().map(known).collect()))
    }

    pub(crate) async fn claim_more(
        &mut self,
        statements: &Statements,
        connection: &mut PgConnection,
        claims: &[Claim<'_>],
    ) -> Result<Vec<PairAnswer>, StoreError> {
        let query = self.query(&statements.claim_more, claims);
        let asked = ask_for(query, claims, connection).await?;
        Ok(self.answers(claims, asked))
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
    fn answers(&mut self, claims: &[Claim<'_>], mut asked: Asked) -> Vec<PairAnswer> {
        self.ids.extend(asked.fresh);
        let answer = |claim: &Claim<'_>| match asked.lost.remove(&claim.message_id.as_uuid()) {
            None => PairAnswer::Fresh,
            Some(Some(recorded)) => PairAnswer::Duplicate(recorded),
            Some(None) => PairAnswer::InFlight,
        };
        claims.iter().map(answer).collect()
    }
}

async fn ask_for(
    query: QueryAs<'_, Postgres, Line, PgArguments>,
    claims: &[Claim<'_>],
    connection: &mut PgConnection,
) -> Result<Asked, StoreError> {
    let claiming = |error| store_error("claiming messages of a batch", error);
    let lines = query.fetch_all(connection).await.map_err(claiming)?;
    let fresh = Vec::with_capacity(lines.len());
    let mut asked = Asked { lane: false, opened_at: None, fresh, lost: HashMap::new() };
    for line in lines {
        match line {
            (None, lane, _, opened_at) => (asked.lane, asked.opened_at) = (lane, opened_at),
            (Some(id), true, ..) => asked.fresh.push(id),
            (Some(id), false, told, _) => {
                asked.lost.insert(id, told.map(recorded).transpose()?.flatten());
            }
        }
    }
    if asked.fresh.len() + asked.lost.len() != claims.len() {
        let message = "claiming messages of a batch: not each was answered";
        return Err(StoreError::new(Fault::Other, message));
    }
    Ok(asked)
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
