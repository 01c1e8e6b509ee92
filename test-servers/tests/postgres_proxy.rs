//! The proxy between sqlx and a real server.

use std::time::{Duration, Instant};

use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};
use test_servers::postgres::{Server, TestDatabase};
use test_servers::proxy::{Action, Proxy, Trigger};

type Done = Result<(), Box<dyn std::error::Error>>;

/// A database with an empty table `kept(n)`, and a proxy in front of it.
struct Scene {
    proxy: Proxy,
    url: String,
    database: TestDatabase,
}

impl Scene {
    async fn new() -> test_servers::Result<Self> {
        let database = Server::shared().await?.create_database().await?;
        let proxy = Proxy::in_front_of(database.direct_url())?;
        let url = proxy.url_for(database.direct_url())?;
        let scene = Self { proxy, url, database };
        scene
            .directly("CREATE TABLE kept (n int)")
            .await
            .map_err(test_servers::Error::doing("no table"))?;
        Ok(scene)
    }

    async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        let connection = PgConnection::connect(&self.url).await?;
        self.proxy.reset();
        Ok(connection)
    }

    async fn directly(&self, sql: &'static str) -> Result<(), sqlx::Error> {
        PgConnection::connect(self.database.direct_url()).await?.execute(sql).await.map(drop)
    }

    /// Rows that are committed.
    async fn kept(&self) -> Result<i64, sqlx::Error> {
        let mut connection = PgConnection::connect(self.database.direct_url()).await?;
        sqlx::query_scalar("SELECT count(*) FROM kept").fetch_one(&mut connection).await
    }
}

/// BEGIN, INSERT, COMMIT.
async fn keep_one(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let mut tx = connection.begin().await?;
    sqlx::query("INSERT INTO kept VALUES ($1)").bind(1).execute(&mut *tx).await?;
    tx.commit().await
}

#[tokio::test]
async fn connecting_is_not_counted() -> Done {
    let scene = Scene::new().await?;
    let _connection = PgConnection::connect(&scene.url).await?;
    assert_eq!(scene.proxy.round_trips(), 0, "{}", scene.proxy.trace());
    Ok(())
}

#[tokio::test]
async fn a_statement_costs_two_trips_at_its_first_use_and_then_one() -> Done {
    let scene = Scene::new().await?;
    let mut connection = scene.connect().await?;
    for expected in [2, 1, 1] {
        scene.proxy.reset();
        sqlx::query("SELECT 1").execute(&mut connection).await?;
        assert_eq!(scene.proxy.round_trips(), expected, "{}", scene.proxy.trace());
        assert_eq!(scene.proxy.trace().statements(), ["SELECT 1"]);
    }
    scene.proxy.reset();
    connection.execute("SELECT 1; SELECT 2").await?;
    assert_eq!(scene.proxy.round_trips(), 1, "{}", scene.proxy.trace());
    assert_eq!(scene.proxy.trace().statements(), ["SELECT 1; SELECT 2"]);
    Ok(())
}

#[tokio::test]
async fn the_rollback_of_a_dropped_transaction_is_a_trip_that_the_next_statement_waits_for() -> Done
{
    let scene = Scene::new().await?;
    let mut connection = scene.connect().await?;
    drop(connection.begin().await?);
    connection.execute("SELECT 1").await?;
    assert_eq!(scene.proxy.trace().statements(), ["BEGIN", "ROLLBACK", "SELECT 1"]);
    assert_eq!(scene.proxy.round_trips(), 3, "{}", scene.proxy.trace());
    Ok(())
}

#[tokio::test]
async fn the_trace_tells_who_said_what() -> Done {
    let scene = Scene::new().await?;
    let mut connection = scene.connect().await?;
    connection.execute("INSERT INTO kept VALUES (1)").await?;
    connection.execute("BEGIN; SELECT 1 / 0").await.unwrap_err();
    connection.execute("ROLLBACK").await?;
    let lines: Vec<String> = scene.proxy.trace().0.iter().map(ToString::to_string).collect();
    let expected = [
        "1 > Q INSERT INTO kept VALUES (1)",
        "1 < C INSERT 0 1",
        "1 < Z I",
        "1 > Q BEGIN; SELECT 1 / 0",
        "1 < C BEGIN",
        "1 < E 22012",
        "1 < Z E",
        "1 > Q ROLLBACK",
        "1 < C ROLLBACK",
        "1 < Z I",
    ];
    assert_eq!(lines, expected);
    Ok(())
}

#[tokio::test]
async fn a_cut_before_commit_keeps_nothing_and_one_after_it_keeps_all() -> Done {
    for (trigger, kept) in [
        (Trigger::client().containing("COMMIT"), 0),
        (Trigger::client().containing("COMMIT").after(), 1),
        (Trigger::server().kind('C').containing("COMMIT"), 1),
        (Trigger::server().kind('Z').nth(4), 1), // after BEGIN, the statement's preparation, the statement, COMMIT
    ] {
        let scene = Scene::new().await?;
        let mut connection = scene.connect().await?;
        let cut = scene.proxy.on(trigger.clone(), Action::Cut);
        assert!(keep_one(&mut connection).await.is_err(), "{trigger:?}: {}", scene.proxy.trace());
        assert!(cut.has_fired(), "{trigger:?}");
        assert!(connection.execute("SELECT 1").await.is_err(), "the connection is gone");
        scene.until_no_backend_is_left().await?;
        assert_eq!(scene.kept().await?, kept, "{trigger:?}: {}", scene.proxy.trace());
    }
    Ok(())
}

impl Scene {
    /// A backend notices the end of its connection when it reads again, and only then rolls back.
    async fn until_no_backend_is_left(&self) -> Result<(), sqlx::Error> {
        let mut connection = PgConnection::connect(self.database.direct_url()).await?;
        let others = "SELECT count(*) FROM pg_stat_activity \
                      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
        while sqlx::query_scalar::<_, i64>(others).fetch_one(&mut connection).await? > 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_cut_at_any_message_keeps_the_row_exactly_if_the_commit_was_passed_on() -> Done {
    let scene = Scene::new().await?;
    keep_one(&mut scene.connect().await?).await?;
    let trace = scene.proxy.trace();
    let sent: Vec<_> = trace
        .0
        .iter()
        .filter(|message| message.side == test_servers::proxy::Side::Client)
        .collect();
    let commit = sent.iter().position(|message| message.text == "COMMIT").unwrap() + 1;
    assert!(commit >= 7, "{trace}"); // BEGIN; P D S; B E S; COMMIT, more or less
    for nth in 1..=commit {
        for (trigger, kept) in [
            (Trigger::client().nth(nth).before(), 0),
            (Trigger::client().nth(nth).after(), i64::from(nth == commit)),
        ] {
            scene.directly("TRUNCATE kept").await?;
            let mut connection = scene.connect().await?;
            let cut = scene.proxy.on(trigger.clone(), Action::Cut);
            assert!(
                keep_one(&mut connection).await.is_err(),
                "{trigger:?}: {}",
                scene.proxy.trace()
            );
            assert!(cut.has_fired(), "{trigger:?}");
            drop(connection);
            scene.until_no_backend_is_left().await?;
            assert_eq!(scene.kept().await?, kept, "{trigger:?}: {}", scene.proxy.trace());
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_stalled_commit_is_committed_and_answered_only_when_the_network_heals() -> Done {
    let scene = Scene::new().await?;
    let mut connection = scene.connect().await?;
    let stall = scene.proxy.on(Trigger::client().containing("COMMIT").after(), Action::Stall);
    let client = tokio::spawn(async move { keep_one(&mut connection).await });
    stall.fired().await;
    assert_eq!(scene.kept().await?, 1);
    assert!(!client.is_finished());
    scene.proxy.heal();
    client.await??;
    Ok(())
}

#[tokio::test]
async fn a_stall_before_commit_holds_it_back() -> Done {
    let scene = Scene::new().await?;
    let mut connection = scene.connect().await?;
    let stall = scene.proxy.on(Trigger::client().containing("COMMIT"), Action::Stall);
    let client = tokio::spawn(async move { keep_one(&mut connection).await });
    stall.fired().await;
    assert_eq!(scene.kept().await?, 0);
    scene.proxy.heal();
    client.await??;
    assert_eq!(scene.kept().await?, 1);
    Ok(())
}

#[tokio::test]
async fn a_rule_acts_once_and_only_on_what_fits() -> Done {
    let scene = Scene::new().await?;
    let mut connection = scene.connect().await?;
    let delay = scene.proxy.on(
        Trigger::client().kind('Q').containing("kept"),
        Action::Delay(Duration::from_millis(1)),
    );
    connection.execute("SELECT 1").await?;
    assert!(!delay.has_fired());
    connection.execute("SELECT FROM kept").await?;
    assert!(delay.has_fired());

    scene.proxy.reset();
    let never = scene.proxy.on(Trigger::client().containing("kept"), Action::Cut);
    scene.proxy.reset();
    connection.execute("SELECT FROM kept").await?;
    assert!(!never.has_fired(), "a reset takes rules away");
    Ok(())
}

#[tokio::test]
async fn a_delay_each_way_is_felt_on_every_trip() -> Done {
    let scene = Scene::new().await?;
    let mut connection = scene.connect().await?;
    scene.proxy.delay_each_way(Duration::from_millis(3));
    let begun = Instant::now();
    for _ in 0..5 {
        connection.execute("SELECT 1").await?;
    }
    assert!(begun.elapsed() >= Duration::from_millis(5 * 2 * 3), "{:?}", begun.elapsed());
    Ok(())
}

#[tokio::test]
async fn after_all_are_cut_a_new_connection_works() -> Done {
    let scene = Scene::new().await?;
    let (mut one, mut other) = (scene.connect().await?, scene.connect().await?);
    scene.proxy.cut_all();
    assert!(one.execute("SELECT 1").await.is_err());
    assert!(other.execute("SELECT 1").await.is_err());
    scene.connect().await?.execute("SELECT 1").await?;
    Ok(())
}

#[tokio::test]
async fn rows_larger_than_any_buffer_pass_unharmed() -> Done {
    let scene = Scene::new().await?;
    let mut connection = scene.connect().await?;
    let sent = "x".repeat(3_000_000);
    let echoed: String =
        sqlx::query_scalar("SELECT $1 || $1").bind(&sent).fetch_one(&mut connection).await?;
    assert!(echoed.len() == 6_000_000 && echoed.bytes().all(|byte| byte == b'x'));
    assert_eq!(
        scene.proxy.round_trips(),
        2,
        "the parameter came in many pieces and is one trip still"
    );
    Ok(())
}
