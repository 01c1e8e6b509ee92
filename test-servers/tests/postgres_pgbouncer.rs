//! PgBouncer in front of a throwaway cluster.

use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor, Row};
use test_servers::pgbouncer::PgBouncer;
use test_servers::postgres::{Cluster, Options};

type Done = Result<(), Box<dyn std::error::Error>>;

/// Simple queries: this is about who answers, not about prepared statements.
async fn backend(client: &mut PgConnection) -> Result<i32, sqlx::Error> {
    sqlx::raw_sql("SELECT pg_backend_pid()").fetch_one(client).await?.try_get(0)
}

#[tokio::test]
async fn clients_share_a_backend_between_transactions_and_not_within() -> Done {
    let cluster = Cluster::start(Options::default()).await?;
    let bouncer = PgBouncer::in_front_of(&cluster).await?;
    let database = cluster.server().through(bouncer.url()).create_database().await?;
    let mut one = PgConnection::connect(database.url()).await?;
    let mut other = PgConnection::connect(database.url()).await?;

    assert_eq!(backend(&mut one).await?, backend(&mut other).await?);
    one.execute("BEGIN").await?;
    assert_ne!(backend(&mut one).await?, backend(&mut other).await?);
    Ok(())
}

#[tokio::test]
async fn a_role_made_just_now_may_enter() -> Done {
    let cluster = Cluster::start(Options::default()).await?;
    let bouncer = PgBouncer::in_front_of(&cluster).await?;
    let database = cluster.server().through(bouncer.url()).create_database().await?;
    PgConnection::connect(database.url()).await?.execute("CREATE ROLE clerk LOGIN").await?;

    let mut clerk = PgConnection::connect(&database.url_as("clerk")?).await?;
    let user: String =
        sqlx::raw_sql("SELECT current_user::text").fetch_one(&mut clerk).await?.try_get(0)?;
    assert_eq!(user, "clerk");
    Ok(())
}
