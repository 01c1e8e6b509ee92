//! Throwaway clusters and the databases on them.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, Executor};
use test_servers::postgres::{Cluster, Installation, Options, Server, Shutdown};

type Done = Result<(), Box<dyn std::error::Error>>;

async fn number(url: &str, sql: &'static str) -> Result<i64, sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    let number = sqlx::query_scalar(sql).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(number)
}

async fn setting(url: &str, sql: &'static str) -> Result<String, sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::query_scalar(sql).fetch_one(&mut connection).await
}

#[tokio::test]
async fn every_version_found_starts() -> Done {
    let found = Installation::all();
    assert!(!found.is_empty(), "no PostgreSQL on this machine");
    for installation in found {
        let cluster = Cluster::start(Options::default().version(installation.major())).await?;
        assert_eq!(cluster.server().major().await?, installation.major());
    }
    Ok(())
}

#[tokio::test]
async fn a_version_that_is_not_there_is_an_error_that_names_those_that_are() {
    let error = Cluster::start(Options::default().version(7)).await.err().unwrap().to_string();
    assert!(error.contains("no PostgreSQL 7"), "{error}");
    assert!(error.contains(Installation::all()[0].version()), "{error}");
}

#[tokio::test]
async fn each_database_is_its_own_and_dropped_although_someone_is_connected() -> Done {
    let server = Server::shared().await?;
    let (one, other) = (server.create_database().await?, server.create_database().await?);
    let mut connection = PgConnection::connect(one.url()).await?;
    connection.execute("CREATE TABLE only_here ()").await?;
    let here = "SELECT count(*) FROM pg_class WHERE relname = 'only_here'";
    assert_eq!(number(one.direct_url(), here).await?, 1);
    assert_eq!(number(other.direct_url(), here).await?, 0);

    let url = one.direct_url().to_owned();
    drop(one);
    let error = PgConnection::connect(&url).await.unwrap_err();
    assert_eq!(error.as_database_error().unwrap().code().unwrap(), "3D000", "no such database");
    Ok(())
}

#[tokio::test]
async fn a_database_reads_only_its_own_part_of_the_log() -> Done {
    let cluster = Cluster::start(Options::default()).await?;
    let (one, other) =
        (cluster.server().create_database().await?, cluster.server().create_database().await?);
    number(one.url(), "SELECT 1 / 0::bigint\n-- a statement of two lines").await.unwrap_err();
    let log = one.log()?;
    assert!(log.contains("22012 ERROR:"), "{log}");
    assert!(log.contains("a statement of two lines"), "{log}");
    assert_eq!(other.log()?, "");
    Ok(())
}

#[tokio::test]
async fn a_killed_server_comes_back_with_what_was_committed() -> Done {
    let mut cluster = Cluster::start(Options::default()).await?;
    let database = cluster.server().create_database().await?;
    let mut connection = PgConnection::connect(database.url()).await?;
    connection.execute("CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)").await?;
    connection.execute("BEGIN; INSERT INTO kept VALUES (2)").await?;

    cluster.kill9().await?;
    assert!(connection.execute("COMMIT").await.is_err(), "no backend outlives the kill");
    assert!(PgConnection::connect(database.url()).await.is_err());

    cluster.restart().await?;
    assert_eq!(number(database.url(), "SELECT count(*) FROM kept").await?, 1);
    assert!(cluster.server().log()?.contains("not properly shut down"));
    Ok(())
}

#[tokio::test]
async fn an_immediate_shutdown_needs_recovery_and_a_fast_one_does_not() -> Done {
    for (how, recovers) in [(Shutdown::Fast, false), (Shutdown::Immediate, true)] {
        let mut cluster = Cluster::start(Options::default()).await?;
        cluster.stop(how).await?;
        assert!(PgConnection::connect(cluster.server().url()).await.is_err());
        cluster.restart().await?;
        let log = cluster.server().log()?;
        assert_eq!(log.contains("not properly shut down"), recovers, "{how:?}: {log}");
    }
    Ok(())
}

#[tokio::test]
async fn options_reach_the_server() -> Done {
    let cluster = Cluster::start(Options::default()).await?;
    assert_eq!(setting(cluster.server().url(), "SHOW fsync").await?, "off");
    let options = Options::default()
        .durable()
        .setting("application_name", "it's")
        .setting("max_connections", "7");
    let cluster = Cluster::start(options).await?;
    let url = cluster.server().url();
    assert_eq!(setting(url, "SHOW fsync").await?, "on");
    assert_eq!(setting(url, "SHOW application_name").await?, "it's");
    assert_eq!(setting(url, "SHOW max_connections").await?, "7");
    Ok(())
}

#[tokio::test]
async fn a_setting_the_server_refuses_is_told_with_its_log() {
    let options = Options::default().setting("no_such_setting", "1");
    let error = Cluster::start(options).await.err().unwrap().to_string();
    assert!(error.contains("no_such_setting"), "{error}");
}

#[tokio::test]
async fn the_unix_socket_works_too() -> Done {
    let cluster = Cluster::start(Options::default()).await?;
    let socket = PgConnectOptions::new_without_pgpass()
        .socket(cluster.socket_folder())
        .port(cluster.port())
        .username("postgres")
        .database("postgres");
    let mut connection = PgConnection::connect_with(&socket).await?;
    let over_tcp: bool = sqlx::query_scalar("SELECT inet_client_addr() IS NOT NULL")
        .fetch_one(&mut connection)
        .await?;
    assert!(!over_tcp);
    Ok(())
}

#[test]
fn a_server_outlives_the_thread_that_started_it() -> Done {
    let start =
        || tokio::runtime::Runtime::new().unwrap().block_on(Cluster::start(Options::default()));
    let cluster = std::thread::spawn(start).join().unwrap()?;
    let one = tokio::runtime::Runtime::new()?
        .block_on(number(cluster.server().url(), "SELECT 1::bigint"))?;
    assert_eq!(one, 1);
    Ok(())
}
