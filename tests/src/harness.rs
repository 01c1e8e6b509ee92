//! [`Harness`]: what a store's author gives to the suite.

use std::future::Future;
use std::time::Duration;

use inbox::{Attempts, DeadLetters, HandlerError, InboxStore, MessageId, UnitOfWork};
use uuid::Uuid;

/// The connection that handlers of `H` write through.
pub type Connection<H> = <<<H as Harness>::Store as InboxStore>::Unit as UnitOfWork>::Connection;

/// One database, made for one test.
///
/// `start` creates the inbox's schema and these tables (any type that holds text will do):
///
/// ```sql
/// CREATE TABLE effects (handler TEXT NOT NULL, message TEXT NOT NULL);
/// CREATE TABLE things (name TEXT CONSTRAINT things_name PRIMARY KEY);
/// CREATE TABLE children (parent TEXT CONSTRAINT children_parent
///     REFERENCES things (name) DEFERRABLE INITIALLY DEFERRED);
/// ```
pub trait Harness: Send + Sync + Sized + 'static {
    /// The store under test.
    type Store: InboxStore + Attempts + DeadLetters;

    /// Where this store honestly differs.
    const FEATURES: Features;

    /// Whether messages are handed in through a worker; see [`Held`](crate::Held).
    const THROUGH_WORKERS: bool = false;

    /// A new database with the tables above.
    fn start() -> impl Future<Output = Self> + Send;

    /// A new handle on the database, with a pool of its own.
    fn store(&self, options: StoreOptions) -> impl Future<Output = Self::Store> + Send;

    /// A handle on a database that has no inbox schema.
    fn store_without_schema(&self) -> impl Future<Output = Self::Store> + Send;

    /// Runs `sql` outside of any dispatch, and answers its one text column.
    fn query(&self, sql: String) -> impl Future<Output = Vec<String>> + Send;

    /// A query for the message ids, as text, of the consumer's dedup rows, in one text column.
    fn dedup_rows_sql(consumer: &str) -> String;

    /// Runs `sql` on a handler's connection, statement by statement.
    fn execute(
        connection: &mut Connection<Self>,
        sql: String,
    ) -> impl Future<Output = Result<(), HandlerError>> + Send;

    /// Runs a query with one text column on a handler's connection.
    fn query_on(
        connection: &mut Connection<Self>,
        sql: String,
    ) -> impl Future<Output = Result<Vec<String>, HandlerError>> + Send;

    /// Opens a savepoint as a handler does (`begin()` of the driver), runs `sql` in it, looks away
    /// from its error, and ends the savepoint as told.
    fn in_savepoint(
        connection: &mut Connection<Self>,
        sql: String,
        end: Nested,
    ) -> impl Future<Output = Result<(), HandlerError>> + Send;

    /// Gives up a `begin()` of the driver before the database has answered, as a timeout around it does.
    fn give_up_a_begin(connection: &mut Connection<Self>) -> impl Future<Output = ()> + Send;

    /// What handlers wrote, as `handler message`, sorted.
    fn effects(&self) -> impl Future<Output = Vec<String>> + Send {
        self.query("SELECT handler || ' ' || message FROM effects ORDER BY 1".to_owned())
    }

    /// The consumer's dedup rows.
    fn dedup_rows(&self, consumer: &str) -> impl Future<Output = Vec<MessageId>> + Send {
        let rows = self.query(Self::dedup_rows_sql(consumer));
        async {
            let parse = |text: String| Uuid::try_parse(&text).expect("a message id");
            let ids = rows.await.into_iter().map(parse);
            ids.map(|id| MessageId::from_uuid(id).expect("not nil")).collect()
        }
    }
}

/// Where stores honestly differ.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// A twin in flight is told from any other load.
    pub in_flight: bool,
    /// A failed statement aborts the transaction.
    pub aborts_on_failed_statement: bool,
    /// A handler's COMMIT is refused by the database.
    pub refuses_commit: bool,
    /// `COMMIT AND CHAIN` is SQL here.
    pub chains: bool,
    /// A constraint's violation names the constraint.
    pub names_constraints: bool,
    /// There are connections, and whoever is allowed to can cut them.
    pub connections: Option<Connections>,
}

/// SQL that cuts connections.
#[derive(Clone, Copy, Debug)]
pub struct Connections {
    /// Cuts the one it runs on.
    pub cut_own: &'static str,
    /// Cuts all others of this database, and answers one text column.
    pub cut_others: &'static str,
}

/// How a handle on the database is opened.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// Connections in the pool.
    pub connections: u32,
    /// How long to wait for a connection of the pool, or for a lock on the database.
    pub wait: Duration,
    /// Whether the message's source is kept.
    pub keep_source: bool,
    /// Whether the payload's fingerprint is kept.
    pub keep_fingerprint: bool,
}

/// A pool of one, so that a connection which is not given back clean is seen by the next dispatch.
impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            connections: 1,
            wait: Duration::from_secs(30),
            keep_source: false,
            keep_fingerprint: false,
        }
    }
}

/// How a handler's savepoint ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nested {
    RollBack,
    Release,
    /// `mem::forget`: it never ends.
    Leak,
}
