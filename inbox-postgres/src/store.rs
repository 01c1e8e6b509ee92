//! [`PgInboxStore`].

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use inbox::{
    BatchClaim, Claim, Claimed, ClaimedBatch, Fault, Fingerprint, InboxStore, MessageId, Recorded,
    Slot, StoreError,
};
use sqlx::{PgConnection, PgPool};

use crate::batch::{self, Ask, Many};
use crate::check;
use crate::error::{ends_the_session, fault_in, store_error};
use crate::lease::{Lease, PgHeld};
use crate::rows::{Row, Rows};
use crate::schema::{self, SchemaName};
use crate::sql::{self, Statements, safe};
use crate::told::{Told, recorded};
use crate::transport_sql::TransportStatements;
use crate::unit::PgUnit;

/// What the store is called in messages.
pub(crate) const NAME: &str = "PostgreSQL";

/// How much longer a statement may run than the slowest handler: the handler's own timeout answers
/// first, and the statement that it leaves behind ends soon after.
const STATEMENT_MARGIN: Duration = Duration::from_secs(1);

/// How much longer a session may be silent than the handlers may run in all.
const IDLE_MARGIN: Duration = Duration::from_secs(30);

/// The inbox's rows in PostgreSQL, beside the tables that the handlers write.
///
/// Cheap to clone. The pool is the application's: nothing on it is changed, and every setting the
/// store needs holds for its own transaction only.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use inbox::Inbox;
/// use inbox_postgres::PgInboxStore;
///
/// let pool = sqlx::PgPool::connect("postgres://localhost/orders").await?;
/// let store = PgInboxStore::new(pool);
/// store.migrate().await?;
/// let inbox = Inbox::from_registry().store(store).build().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PgInboxStore {
    pool: PgPool,
    schema: SchemaName,
    statements: Arc<Statements>,
    options: Options,
}

/// The application's choices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) audit: bool,
    pub(crate) fingerprint: bool,
    pub(crate) named_statements: bool,
    pub(crate) sessions_are_ours: bool,
    pub(crate) fsync_off_is_accepted: bool,
}

impl PgInboxStore {
    /// A store in the schema `inbox` of the database that `pool` is connected to. The handlers write
    /// through connections of the same pool.
    pub fn new(pool: PgPool) -> Self {
        Self::in_valid_schema(pool, SchemaName::default())
    }

    /// A store in a schema of another name: 1–63 characters of `a–z 0–9 _`.
    ///
    /// # Errors
    /// A name that is no such identifier.
    pub fn in_schema(pool: PgPool, name: &str) -> Result<Self, StoreError> {
        Ok(Self::in_valid_schema(pool, SchemaName::new(name)?))
    }

    fn in_valid_schema(pool: PgPool, schema: SchemaName) -> Self {
        let statements = Arc::new(Statements::new(&schema));
        let options = Options {
            audit: false,
            fingerprint: false,
            named_statements: true,
            sessions_are_ours: true,
            fsync_off_is_accepted: false,
        };
        Self { pool, schema, statements, options }
    }

    /// Keeps, beside each dedup row, the message's source, time, correlation id and causation id. A
    /// known id that comes from another source is then noticed.
    pub fn keep_audit(mut self) -> Self {
        self.options.audit = true;
        self
    }

    /// Keeps a 16-byte fingerprint of each payload, so that a known id with another payload is
    /// noticed. For producers that send the same bytes on every redelivery.
    pub fn keep_fingerprint(mut self) -> Self {
        self.options.fingerprint = true;
        self
    }

    /// For a pool whose connections go through a pooler in transaction mode, such as PgBouncer: relies on
    /// nothing that belongs to a session, because a session is then shared with others.
    ///
    /// Costs a round trip for each call of the handlers in a batch: whether the batch's transaction is
    /// still the one that was opened is asked after each of them. Without this, a setting of the session
    /// keeps a handler that ended it from making others' writes durable.
    pub fn through_a_transaction_pooler(mut self) -> Self {
        self.options.sessions_are_ours = false;
        self
    }

    /// Uses no named prepared statements: for a pooler in transaction mode that does not follow them, such
    /// as PgBouncer before 1.21, and so implies
    /// [`through_a_transaction_pooler`](Self::through_a_transaction_pooler). Costs a round trip for each
    /// claim. The handlers' own statements then need `.persistent(false)` too.
    pub fn without_named_statements(mut self) -> Self {
        self.options.named_statements = false;
        self.through_a_transaction_pooler()
    }

    /// Lets [`check`](InboxStore::check) pass on a server whose `fsync` or `full_page_writes` is off,
    /// where a power failure loses what was answered `Ok`: for test databases.
    pub fn accept_fsync_off(mut self) -> Self {
        self.options.fsync_off_is_accepted = true;
        self
    }

    /// Creates or upgrades the inbox's schema. Safe when many instances start at once; does nothing
    /// where the schema is current. Needs the right to create a schema only where there is none.
    ///
    /// # Errors
    /// What the database refuses.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        schema::migrate(&self.pool, &self.schema).await
    }

    /// All migrations as one SQL script, for databases that other tools change.
    pub fn migrations_sql(&self) -> String {
        schema::script(&self.schema)
    }

    /// The pool.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    pub(crate) fn transport(&self) -> &TransportStatements {
        &self.statements.transport
    }

    /// A unit of work on a connection of the pool.
    async fn opened(&self, rows: Rows) -> Result<PgUnit, StoreError> {
        let connection = self.pool.acquire().await.map_err(claiming)?;
        let lease = Lease::open(connection, rows.frame(&self.statements).begin).await?;
        Ok(PgUnit::new(lease, Arc::clone(&self.statements), rows))
    }

    /// One on the connection that a worker holds.
    async fn resumed(&self, slot: &mut Slot<PgHeld>, rows: Rows) -> Option<PgUnit> {
        let lease = slot.take()?.resume(rows.frame(&self.statements)).await?;
        Some(PgUnit::new(lease, Arc::clone(&self.statements), rows))
    }

    /// Claims in an open transaction, and ends it where there is nothing to run in it.
    async fn claim_in(
        &self,
        mut unit: PgUnit,
        claim: Claim<'_>,
        slot: &mut Slot<PgHeld>,
    ) -> Result<Claimed<PgUnit>, StoreError> {
        let answer = match self.ask(&mut unit, claim).await {
            Ok(answer) => answer,
            Err(error) => {
                if !ends_the_session(&error) {
                    // Its failure would hide why the claim failed.
                    let _ = unit.close(slot).await;
                }
                return Err(claiming(error));
            }
        };
        let Some(told) = answer else { return Ok(Claimed::Fresh(unit)) };
        unit.close(slot).await?;
        // Whoever has the lock: what can be seen is committed.
        Ok(recorded(told)?.map_or(Claimed::InFlight, Claimed::Duplicate))
    }

    async fn ask(&self, unit: &mut PgUnit, claim: Claim<'_>) -> Result<Option<Told>, sqlx::Error> {
        use inbox::UnitOfWork as _;
        let (envelope, options) = (claim.envelope, self.options);
        let fingerprint =
            options.fingerprint.then(|| Fingerprint::of(envelope.payload()).0.to_vec());
        sqlx::query_scalar(safe(&self.statements.claim))
            .bind(claim.consumer)
            .bind(claim.message_id.as_uuid())
            .bind(envelope.event_type())
            .bind(milliseconds(claim.statement_limit + STATEMENT_MARGIN))
            .bind(milliseconds(claim.run_limit + IDLE_MARGIN))
            .bind(envelope.source().filter(|_| options.audit))
            .bind(envelope.occurred_at().filter(|_| options.audit))
            .bind(envelope.correlation_id().filter(|_| options.audit))
            .bind(envelope.causation_id().filter(|_| options.audit))
            .bind(fingerprint)
            .persistent(options.named_statements)
            .fetch_one(unit.connection())
            .await
    }
}

fn claiming(error: sqlx::Error) -> StoreError {
    store_error("claiming the message", error)
}

impl InboxStore for PgInboxStore {
    type Connection = PgConnection;
    type Unit = PgUnit;
    type Held = PgHeld;
    const NAME: &'static str = NAME;
    const BATCH_LIMIT: usize = batch::LIMIT;

    async fn check(&self) -> Result<Vec<String>, StoreError> {
        check::check(&self.pool, &self.schema, self.options.fsync_off_is_accepted).await
    }

    async fn claim(
        &self,
        claim: Claim<'_>,
        slot: &mut Slot<PgHeld>,
    ) -> Result<Claimed<PgUnit>, StoreError> {
        let (consumer, message_id) = (claim.consumer, claim.message_id);
        let rows = || Rows::One(Row { consumer, message_id });
        if let Some(unit) = self.resumed(slot, rows()).await {
            if let Ok(claimed) = self.claim_in(unit, claim, slot).await {
                return Ok(claimed);
            }
            // It died while it rested, or a handler changed it for the worse (`SET TRANSACTION READ
            // ONLY` outlives COMMIT AND CHAIN). Nothing has run, so a fresh one is tried.
            slot.clear();
        }
        let unit = self.opened(rows()).await?;
        self.claim_in(unit, claim, slot).await
    }

    async fn open_batch(
        &self,
        batch: BatchClaim<'_>,
        slot: &mut Slot<PgHeld>,
    ) -> Result<ClaimedBatch<PgUnit>, StoreError> {
        let BatchClaim { consumer, claims, exclusive, .. } = batch;
        let ask = Ask {
            exclusive,
            statement_limit: milliseconds(batch.statement_limit + STATEMENT_MARGIN),
            idle_limit: milliseconds(batch.run_limit + IDLE_MARGIN),
        };
        let rows = || Rows::Many(Many::new(self.options, consumer));
        if let Some(unit) = self.resumed(slot, rows()).await {
            if let Ok(opened) = batch::open_in(unit, claims, ask, slot).await {
                return Ok(opened);
            }
            slot.clear(); // as for a single claim
        }
        let unit = self.opened(rows()).await?;
        batch::open_in(unit, claims, ask, slot).await
    }

    async fn find(
        &self,
        consumer: &str,
        message_id: MessageId,
    ) -> Result<Option<Recorded>, StoreError> {
        let failed = |error| store_error("looking a message up", error);
        let query = sqlx::query_scalar(safe(&self.statements.find))
            .bind(consumer)
            .bind(message_id.as_uuid())
            .persistent(self.options.named_statements);
        let told: Option<Told> = if self.options.named_statements {
            query.fetch_optional(&self.pool).await.map_err(failed)?
        } else {
            // An unnamed statement is parsed in one round trip and run in the next; only in a
            // transaction does a pooler send both to one server.
            let connection = self.pool.acquire().await.map_err(failed)?;
            let mut lease = Lease::open(connection, sql::BEGIN).await?;
            let told = query.fetch_optional(lease.connection()).await.map_err(failed)?;
            lease.end(sql::ROLLBACK_AND_CHAIN, &mut Slot::passing()).await?;
            told
        };
        told.map_or(Ok(None), recorded)
    }

    fn fault_in(&self, error: &(dyn Error + 'static)) -> Option<Fault> {
        fault_in(error)
    }
}

/// A setting's milliseconds.
fn milliseconds(duration: Duration) -> i32 {
    // A timeout of the server's is at most so long: about 24 days.
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}
