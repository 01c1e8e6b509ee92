//! The few statements this crate itself sends.

use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};

/// A statement of ours on a connection of its own.
pub(super) async fn execute(url: &str, sql: &str) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await?;
    connection.close().await
}

/// Whether the server answers queries.
pub(super) async fn answers(url: &str) -> bool {
    execute(url, "SELECT").await.is_ok()
}

pub(super) async fn server_version(url: &str) -> Result<u32, sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    let number: String =
        sqlx::query_scalar("SHOW server_version_num").fetch_one(&mut connection).await?;
    connection.close().await?;
    number.parse().map_err(|_| sqlx::Error::Protocol("server_version_num is no number".to_owned()))
}

/// The same from where nothing can be awaited, and also from within a runtime: on a thread of its own, waited for so that
/// it happens before the process ends. Failure is ignored: the server may be gone.
pub(super) fn execute_at_the_end(url: String, sql: String) {
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let statement =
            async { tokio::time::timeout(Duration::from_secs(10), execute(&url, &sql)).await };
        if let Ok(runtime) = runtime {
            let _ = runtime.block_on(statement);
        }
    });
    let _ = thread.join();
}
