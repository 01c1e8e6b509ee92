//! The schema: created by ten at once, beside the application's own, with no more rights than needed.

use inbox::{InboxStore as _, Outcome};
use inbox_postgres::PgInboxStore;
use sqlx::PgPool;

use crate::bed::{Bed, message, store};

#[tokio::test]
async fn ten_instances_may_migrate_at_once() {
    let bed = Bed::with(|pool| pool.max_connections(10), |session| session).await;
    migrate_at_once(&bed).await;
}

#[tokio::test]
async fn ten_instances_may_migrate_at_once_under_a_stricter_isolation_level() {
    let bed = Bed::with(|pool| pool.max_connections(10), |session| session).await;
    let name = bed.database.name();
    bed.run(&format!(
        "ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'"
    ))
    .await;
    let pool = sqlx::postgres::PgPoolOptions::new().max_connections(10);
    let strict = Bed { pool: pool.connect(bed.database.url()).await.unwrap(), ..bed };
    migrate_at_once(&strict).await;
}

async fn migrate_at_once(bed: &Bed) {
    bed.run("DROP SCHEMA inbox CASCADE").await;
    let starting: Vec<_> = (0..10)
        .map(|_| {
            let store = bed.store();
            tokio::spawn(async move { store.migrate().await })
        })
        .collect();
    for start in starting {
        start.await.unwrap().unwrap();
    }
    assert_eq!(bed.number("SELECT count(*) FROM inbox.migrations").await, 2);
    assert_eq!(bed.store().check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn s4_the_applications_own_migrations_are_not_touched() {
    let bed = Bed::new().await;
    bed.run(
        "DROP SCHEMA inbox CASCADE; CREATE TABLE _sqlx_migrations (version bigint PRIMARY KEY); \
         INSERT INTO _sqlx_migrations VALUES (1); CREATE TABLE messages (mine int); \
         CREATE TABLE migrations (mine int)",
    )
    .await;
    bed.store().migrate().await.unwrap();
    bed.store().migrate().await.unwrap();
    assert_eq!(bed.number("SELECT count(*) FROM _sqlx_migrations").await, 1);
    assert_eq!(bed.number("SELECT count(mine) FROM messages").await, 0);
    assert_eq!(bed.inbox().await.dispatch(&message("")).await.unwrap(), Outcome::Processed);
}

#[tokio::test]
async fn the_printed_script_makes_the_same_schema() {
    let bed = Bed::new().await;
    bed.run("DROP SCHEMA inbox CASCADE").await;
    let script = bed.store().migrations_sql();
    bed.run(&script).await;
    assert_eq!(bed.store().check().await.unwrap(), Vec::<String>::new());
    bed.store().migrate().await.unwrap(); // nothing is left to do
    assert_eq!(bed.number("SELECT count(*) FROM inbox.migrations").await, 2);
}

#[tokio::test]
async fn a_schema_of_another_name_works_and_a_bad_name_is_refused() {
    let bed = Bed::new().await;
    let pool = bed.pool.clone();
    let named = PgInboxStore::in_schema(pool.clone(), "orders_inbox").unwrap().accept_fsync_off();
    named.migrate().await.unwrap();
    assert_eq!(named.check().await.unwrap(), Vec::<String>::new());
    assert_eq!(bed.number("SELECT count(*) FROM orders_inbox.messages").await, 0);
    let refused = PgInboxStore::in_schema(pool, "x\"; DROP TABLE effects").unwrap_err();
    assert!(refused.to_string().contains("a–z, 0–9 and _"), "{refused}");
}

#[tokio::test]
async fn a_role_with_the_documented_grants_and_no_more_can_run_an_inbox() {
    let bed = Bed::new().await;
    let role = format!("least_{}", bed.database.name());
    bed.run(&format!(
        "CREATE ROLE {role} LOGIN; \
         GRANT USAGE ON SCHEMA inbox TO {role}; \
         GRANT SELECT ON inbox.migrations TO {role}; \
         GRANT SELECT, INSERT ON inbox.messages TO {role}; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON inbox.attempts, inbox.dead_letters TO {role}; \
         GRANT INSERT ON effects TO {role}"
    ))
    .await;
    let pool = PgPool::connect(&bed.database.url_as(&role).unwrap()).await.unwrap();
    let inbox = inbox::Inbox::builder()
        .store(store(pool.clone()))
        .state(bed.signals.clone())
        .register(inbox::HandlerRegistration::new::<crate::bed::Run>(crate::bed::CONSUMER, "run"))
        .build()
        .await
        .unwrap();
    store(pool.clone()).migrate().await.unwrap(); // does nothing, needs nothing
    let envelope = message("INSERT INTO effects VALUES ('a')");
    assert_eq!(inbox.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    assert_eq!(inbox.dispatch(&envelope).await.unwrap(), Outcome::SkippedDuplicate);
    pool.close().await;
    bed.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}
