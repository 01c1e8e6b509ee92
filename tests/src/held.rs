//! [`Held`]: the same store, with every message handed in through a worker.

use inbox::HandlerError;

use crate::harness::{Connection, Features, Harness, Nested, StoreOptions};

/// The harness `H`, whose messages go through [`inbox::Worker`]s. A worker holds its connection from
/// message to message, so the suite's pool of one is never free in between.
#[derive(Debug)]
pub struct Held<H>(H);

impl<H: Harness> Harness for Held<H> {
    type Store = H::Store;
    const FEATURES: Features = H::FEATURES;
    const THROUGH_WORKERS: bool = true;

    async fn start() -> Self {
        Self(H::start().await)
    }

    async fn store(&self, options: StoreOptions) -> H::Store {
        self.0.store(options).await
    }

    async fn store_without_schema(&self) -> H::Store {
        self.0.store_without_schema().await
    }

    async fn query(&self, sql: String) -> Vec<String> {
        self.0.query(sql).await
    }

    fn dedup_rows_sql(consumer: &str) -> String {
        H::dedup_rows_sql(consumer)
    }

    async fn execute(connection: &mut Connection<H>, sql: String) -> Result<(), HandlerError> {
        H::execute(connection, sql).await
    }

    async fn query_on(
        connection: &mut Connection<H>,
        sql: String,
    ) -> Result<Vec<String>, HandlerError> {
        H::query_on(connection, sql).await
    }

    async fn in_savepoint(
        connection: &mut Connection<H>,
        sql: String,
        end: Nested,
    ) -> Result<(), HandlerError> {
        H::in_savepoint(connection, sql, end).await
    }

    async fn give_up_a_begin(connection: &mut Connection<H>) {
        H::give_up_a_begin(connection).await;
    }
}
