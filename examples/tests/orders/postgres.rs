//! The same program on PostgreSQL: `--database-url`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use test_servers::postgres::{Cluster, Options, Server, Shutdown, TestDatabase};

use crate::input::Stream;
use crate::program::{Ended, feed, orders};

/// Straight to the server: the program uses named statements, which a pooler may not follow.
async fn database() -> TestDatabase {
    Server::shared().await.unwrap().create_database().await.unwrap()
}

fn start(database: &TestDatabase, arguments: &[&str]) -> Child {
    let mut command = orders();
    command.args(arguments).args(["--accept-fsync-off", "--database-url", database.direct_url()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// `orders - --json` on `input`.
fn apply(database: &TestDatabase, input: String) -> Ended {
    feed(start(database, &["-", "--json"]), input.into_bytes())
}

async fn column(database: &TestDatabase, sql: &str) -> Vec<String> {
    let mut connection = PgConnection::connect(database.direct_url()).await.unwrap();
    let query = sqlx::query_scalar(AssertSqlSafe(sql.to_owned()));
    query.fetch_all(&mut connection).await.unwrap()
}

pub(crate) async fn tables(database: &TestDatabase) -> (Vec<String>, Vec<String>) {
    let stock =
        "SELECT concat_ws(' ', sku, on_hand, reserved) FROM stock ORDER BY sku COLLATE \"C\"";
    let orders = "SELECT concat_ws(' ', order_id, sku, quantity, status) FROM orders \
                  ORDER BY order_id COLLATE \"C\"";
    (column(database, stock).await, column(database, orders).await)
}

#[tokio::test]
async fn the_demonstration_is_exact_and_leaves_nothing_behind() {
    let database = database().await;
    let ended = Ended::from(start(&database, &[]).wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.trim_end().ends_with("exact"), "{}", ended.stdout);
    let left = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'orders_demo%' \
                UNION SELECT relname FROM pg_class WHERE relname IN ('stock', 'orders')";
    assert_eq!(column(&database, left).await, Vec::<String>::new());
}

#[tokio::test]
async fn every_kind_of_line_is_counted_as_on_sqlite() {
    let line = |id: &str, event_type: &str, data: &str| {
        format!(
            r#"{{"specversion":"1.0","id":"{id}","source":"/shop","type":"{event_type}","data":{data}}}"#
        )
    };
    let placed = "orders.order-placed.v1";
    let input = [
        line("1", "stock.received.v1", r#"{"sku":"tea","quantity":9}"#),
        line("2", placed, r#"{"order_id":"a","sku":"tea","quantity":3}"#),
        line("2", placed, r#"{"order_id":"a","sku":"tea","quantity":3}"#),
        line("3", placed, r#"{"order_id":"b","sku":"tea","quantity":7}"#), // more than there is
        line("4", placed, r#"{"order_id":"a","sku":"tea","quantity":1}"#), // placed before
        line("5", "orders.order-cancelled.v1", r#"{"order_id":"x"}"#),     // unknown
        line("6", "orders.order-shipped.v1", "{}"),
        line("7", "stock.received.v1", r#"{"sku":"tea","quantity":0}"#),
        "no CloudEvent".to_owned(),
    ]
    .join("\n");
    let database = database().await;
    let on_postgres = apply(&database, input.clone());
    let on_sqlite = crate::program::apply(&input, None);
    assert_eq!(on_postgres.counts(), [9, 2, 1, 3, 3]);
    assert_eq!(on_postgres.counts(), on_sqlite.counts());
    assert_eq!(on_postgres.code, Some(1));
    let lines = |ended: &Ended| ended.problems().iter().map(|(line, _)| *line).collect::<Vec<_>>();
    assert_eq!(lines(&on_postgres), lines(&on_sqlite));
    assert_eq!(tables(&database).await, (vec!["tea 9 3".into()], vec!["a tea 3 placed".into()]));
}

#[tokio::test]
async fn a_stream_killed_half_way_and_rerun_is_exact_on_postgres() {
    let database = database().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("in.jsonl");
    let stream = Stream::generate(4000, 3);
    std::fs::write(&file, stream.text()).unwrap();
    let arguments = [file.to_str().unwrap(), "--json"];

    let mut child = start(&database, &arguments);
    let told = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(told.map(Result::unwrap).any(|line| line == "1000 lines"), "it ended too early");
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = Ended::from(start(&database, &arguments).wait_with_output().unwrap());

    let [delivered, processed, skipped, failed, rejected] = ended.counts();
    assert_eq!((ended.code, failed, rejected), (Some(0), 0, 0), "{}", ended.stderr);
    assert_eq!((delivered, processed + skipped), (4000, 4000));
    assert!(skipped > 1000 && processed > 0, "what was processed before is skipped: {skipped}");
    assert_eq!(tables(&database).await, stream.tables());
}

#[tokio::test]
async fn tables_of_somebody_else_are_left_alone_on_postgres() {
    let database = database().await;
    column(&database, "CREATE TABLE stock (shares text)").await;
    let ended = apply(&database, String::new());
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("are not this example's"), "{}", ended.stderr);
}

/// The server is gone half-way: the line that finds it gone waits for it, and so do those after it.
#[tokio::test]
async fn a_stream_goes_on_after_a_restart_of_postgres() {
    for batch in ["1", "50"] {
        goes_on_after_a_restart(batch).await;
    }
}

async fn goes_on_after_a_restart(batch: &str) {
    let mut cluster = Cluster::start(Options::default()).await.unwrap();
    let stream = Stream::generate(2000, 5);
    let database = cluster.server().create_database().await.unwrap();
    let mut child = start(&database, &["-", "--json", "--batch", batch]);
    let mut stdin = child.stdin.take().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let (text, half) = (stream.text(), stream.text().len() / 2);
    stdin.write_all(&text.as_bytes()[..half]).unwrap();
    cluster.stop(Shutdown::Immediate).await.unwrap();
    let feeding = std::thread::spawn(move || stdin.write_all(&text.as_bytes()[half..]).unwrap());
    assert!(told.any(|line| line.contains(" waits for the database: ")), "it has not noticed");
    cluster.restart().await.unwrap();
    let reading = std::thread::spawn(move || told.collect::<Vec<_>>().join("\n"));
    let ended = Ended::from(child.wait_with_output().unwrap());
    feeding.join().unwrap();
    let [delivered, processed, skipped, failed, rejected] = ended.counts();
    let told = reading.join().unwrap();
    assert_eq!((ended.code, failed, rejected), (Some(0), 0, 0), "{told}");
    assert_eq!((delivered, processed + skipped), (2000, 2000));
    assert_eq!(tables(&database).await, stream.tables());
}

#[test]
fn a_database_that_is_not_there_is_told_without_the_password() {
    for url in
        ["postgres://me:secret-word@127.0.0.1:1/nowhere", "secret-word", "http://secret-word"]
    {
        let ended = crate::program::run(["--database-url", url]);
        assert_eq!(ended.code, Some(2), "{url}");
        assert!(ended.stderr.contains("--database-url"), "{}", ended.stderr);
        assert!(!ended.stderr.contains("secret-word"), "{}", ended.stderr);
    }
}

#[test]
fn a_file_and_a_database_exclude_each_other() {
    let ended = crate::program::run(["-", "--db", "x", "--database-url", "postgres://localhost/x"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("--database-url"), "{}", ended.stderr);
}
