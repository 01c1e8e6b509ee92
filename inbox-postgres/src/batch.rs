//! The claims of a batch: many pairs in one statement.

use inbox::{Claim, ClaimedBatch, Envelope, Fingerprint, PairAnswer, Recorded, Slot, StoreError};
use sqlx::postgres::PgArguments;
use sqlx::query::QueryAs;
use sqlx::types::Uuid;
use sqlx::types::time::OffsetDateTime;
use sqlx::{PgConnection, Postgres};

use crate::error::store_error;
use crate::lease::PgHeld;
use crate::sql::{Statements, Text, safe};
use crate::store::Options;
use crate::told::age_of;
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

/// Whether the lane is ours, whether the claim is won, and of the row that is there: its event type, source,
/// fingerprint, age in seconds, and whether it was skipped on purpose.
type Line =
    (bool, bool, Option<String>, Option<String>, Option<Vec<u8>>, Option<f64>, Option<bool>);

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
        let lines = query.fetch_all(connection).await.map_err(claiming)?;
        if lines.first().is_none_or(|(lane, ..)| *lane) {
            return Ok(Opened::Claimed(self.read(lines, claims)));
        }
        Ok(Opened::Busy(lines.into_iter().take(claims.len()).map(known).collect()))
    }

    pub(crate) async fn claim_more(
        &mut self,
        statements: &Statements,
        connection: &mut PgConnection,
        claims: &[Claim<'_>],
    ) -> Result<Vec<PairAnswer>, StoreError> {
        let query = self.query(&statements.claim_more, claims);
        let lines = query.fetch_all(connection).await.map_err(claiming)?;
        Ok(self.read(lines, claims))
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

    fn read(&mut self, lines: Vec<Line>, claims: &[Claim<'_>]) -> Vec<PairAnswer> {
        let mut answers = Vec::with_capacity(claims.len());
        for (line, claim) in lines.into_iter().zip(claims) {
            let (_, fresh, ..) = line;
            answers.push(match (fresh, known(line)) {
                (true, _) => {
                    self.ids.push(claim.message_id.as_uuid());
                    PairAnswer::Fresh
                }
                // Whoever has the lock: what can be seen is committed.
                (false, Some(recorded)) => PairAnswer::Duplicate(recorded),
                (false, None) => PairAnswer::InFlight,
            });
        }
        answers
    }
}

fn claiming(error: sqlx::Error) -> StoreError {
    store_error("claiming messages of a batch", error)
}

fn known((_, _, event_type, source, fingerprint, age, skipped): Line) -> Option<Recorded> {
    let mut recorded = Recorded::new(event_type?, age_of(age?));
    recorded.source = source;
    recorded.skipped = skipped.unwrap_or(false);
    recorded.fingerprint = fingerprint.and_then(|bytes| bytes.try_into().ok()).map(Fingerprint);
    Some(recorded)
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
