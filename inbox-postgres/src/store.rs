//! [`PgInboxStore`].

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use inbox::{
    Claim, Claimed, Fault, Fingerprint, InboxStore, MessageId, Recorded, Slot, StoreError,
};
use sqlx::{PgConnection, PgPool};

use crate::check;
use crate::error::{ends_the_session, fault_in, store_error};
use crate::schema::{self, SchemaName};
use crate::sql::{Statements, safe};
use crate::unit::{Lease, PgHeld, PgUnit, Row};

/// What the store is called in messages.
pub(crate) const NAME: &str = "PostgreSQL";

/// How much longer a statement may run than the slowest handler: the handler's own timeout answers
/// first, and the statement that it leaves behind ends soon after.
const STATEMENT_MARGIN: Duration = Duration::from_secs(1);

/// How much longer a session may be silent than the handlers may run in all.
const IDLE_MARGIN: Duration = Duration::from_secs(30);

/// What the schema's functions tell of a row.
type Told = Vec<Option<String>>;

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

#[derive(Clone, Copy, Debug)]
struct Options {
    audit: bool,
    fingerprint: bool,
    named_statements: bool,
    fsync_off_is_accepted: bool,
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

    /// Uses no named prepared statements: for a connection pooler in transaction mode that does not
    /// follow them, such as PgBouncer before 1.21. Costs a round trip for each claim. The handlers'
    /// own statements then need `.persistent(false)` too.
    pub fn without_named_statements(mut self) -> Self {
        self.options.named_statements = false;
        self
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

    async fn check(&self) -> Result<Vec<String>, StoreError> {
        check::check(&self.pool, &self.schema, self.options.fsync_off_is_accepted).await
    }

    async fn claim(
        &self,
        claim: Claim<'_>,
        slot: &mut Slot<PgHeld>,
    ) -> Result<Claimed<PgUnit>, StoreError> {
        let row = Row {
            statements: Arc::clone(&self.statements),
            consumer: claim.consumer,
            message_id: claim.message_id,
        };
        let resumed = slot.take().and_then(|held| PgUnit::resume(held, row.clone()));
        if let Some(unit) = resumed {
            if let Ok(claimed) = self.claim_in(unit, claim, slot).await {
                return Ok(claimed);
            }
            // It died while it rested, or a handler changed it for the worse (`SET TRANSACTION READ
            // ONLY` outlives COMMIT AND CHAIN). Nothing has run, so a fresh one is tried.
            slot.clear();
        }
        let connection = self.pool.acquire().await.map_err(claiming)?;
        let unit = PgUnit::open(connection, row).await?;
        self.claim_in(unit, claim, slot).await
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
            let mut lease = Lease::open(self.pool.acquire().await.map_err(failed)?).await?;
            let told = query.fetch_optional(lease.connection()).await.map_err(failed)?;
            lease.end(&mut Slot::passing()).await?;
            told
        };
        told.map_or(Ok(None), recorded)
    }

    fn fault_in(&self, error: &(dyn Error + 'static)) -> Option<Fault> {
        fault_in(error)
    }
}

/// What is told of a row that is there. Nothing is told where a twin holds the pair.
fn recorded(told: Told) -> Result<Option<Recorded>, StoreError> {
    if told.is_empty() {
        return Ok(None);
    }
    let unread =
        || StoreError::new(Fault::Other, "a dedup row was told in a shape that is not known");
    read(told).map(Some).ok_or_else(unread)
}

fn read(told: Told) -> Option<Recorded> {
    let [event_type, source, fingerprint, age]: [_; 4] = told.try_into().ok()?;
    let age: f64 = age?.parse().ok()?;
    // A clock that was set back makes a negative age, which `Duration` cannot hold.
    let age = Duration::try_from_secs_f64(age.max(0.0)).unwrap_or(Duration::MAX);
    let mut recorded = Recorded::new(event_type?, age);
    recorded.source = source;
    recorded.fingerprint = fingerprint.as_deref().and_then(fingerprint_of_hex);
    Some(recorded)
}

fn fingerprint_of_hex(hex: &str) -> Option<Fingerprint> {
    let number = u128::from_str_radix(hex, 16).ok()?;
    Some(Fingerprint(number.to_be_bytes()))
}

/// A setting's milliseconds.
fn milliseconds(duration: Duration) -> i32 {
    // A timeout of the server's is at most so long: about 24 days.
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}
