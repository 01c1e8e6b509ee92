//! `check()`: each thing that endangers the promise is told with its remedy.

use inbox::{Inbox, InboxStore as _};
use inbox_postgres::PgInboxStore;

use crate::bed::{Bed, store};

async fn problems(bed: &Bed) -> String {
    bed.store().check().await.unwrap().join("\n")
}

#[tokio::test]
async fn c6_a_missing_schema_fails_the_build_with_the_remedy() {
    let bed = Bed::new().await;
    bed.run("DROP SCHEMA inbox CASCADE").await;
    let error = bed.builder().build().await.unwrap_err().to_string();
    assert!(error.contains("`PgInboxStore::migrate()`"), "{error}");
}

#[tokio::test]
async fn an_older_and_a_newer_schema_are_told_apart() {
    let bed = Bed::new().await;
    bed.run("DELETE FROM inbox.migrations").await;
    assert!(problems(&bed).await.contains("at version 0 and this library needs"));
    bed.run("INSERT INTO inbox.migrations VALUES (99, 'future')").await;
    assert!(problems(&bed).await.contains("upgrade the library"));
}

#[tokio::test]
async fn what_endangers_the_promise_is_told_with_its_remedy() {
    let bed = Bed::new().await;
    assert_eq!(problems(&bed).await, "");
    for (harm, remedy, mend) in [
        (
            "ALTER TABLE inbox.messages DISABLE TRIGGER refuse_foreign_commit",
            "ENABLE TRIGGER",
            "ALTER TABLE inbox.messages ENABLE TRIGGER refuse_foreign_commit",
        ),
        (
            "ALTER TABLE inbox.messages SET UNLOGGED",
            "SET LOGGED",
            "ALTER TABLE inbox.messages SET LOGGED",
        ),
        (
            "ALTER TABLE inbox.messages RENAME TO elsewhere",
            "is gone",
            "ALTER TABLE inbox.elsewhere RENAME TO messages",
        ),
        (
            "ALTER PROCEDURE inbox.finish RENAME TO elsewhere",
            "GRANT EXECUTE ON ALL ROUTINES",
            "ALTER PROCEDURE inbox.elsewhere RENAME TO finish",
        ),
    ] {
        bed.run(harm).await;
        let told = problems(&bed).await;
        assert!(told.contains(remedy), "{harm}: {told}");
        bed.run(mend).await;
        assert_eq!(problems(&bed).await, "", "{mend}");
    }
}

#[tokio::test]
async fn what_else_goes_wrong_is_not_told_as_a_missing_grant() {
    let bed = Bed::new().await;
    bed.run("ALTER TABLE inbox.migrations RENAME version TO renamed").await;
    let error = bed.store().check().await.unwrap_err();
    assert_eq!(error.code(), Some("42703"), "{error}");
}

#[tokio::test]
async fn missing_grants_are_told_with_the_grant_to_write() {
    let bed = Bed::new().await;
    let role = format!("poor_{}", bed.database.name());
    bed.run(&format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA inbox TO {role}; \
         GRANT SELECT ON ALL TABLES IN SCHEMA inbox TO {role}; \
         REVOKE EXECUTE ON PROCEDURE inbox.finish FROM PUBLIC"
    ))
    .await;
    let url = bed.database.url_as(&role).unwrap();
    let pool = sqlx::PgPool::connect(&url).await.unwrap();
    let told = store(pool.clone()).check().await.unwrap().join("\n");
    assert!(told.contains("GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA inbox"), "{told}");
    assert!(told.contains("GRANT EXECUTE ON ALL ROUTINES IN SCHEMA inbox"), "{told}");
    pool.close().await;
    bed.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}

#[tokio::test]
async fn a_server_without_fsync_is_refused_unless_it_is_accepted() {
    let bed = Bed::new().await;
    let fsync_is_on = "SELECT current_setting('fsync')::bool::int::bigint";
    let told = PgInboxStore::new(bed.pool.clone()).check().await.unwrap().join("\n");
    assert_eq!(told.contains("power failure"), bed.number(fsync_is_on).await == 0, "{told}");
}

#[tokio::test]
async fn a_server_that_is_not_there_fails_the_build_without_its_url() {
    let pool = sqlx::postgres::PgPoolOptions::new()
        .acquire_timeout(std::time::Duration::from_millis(200))
        .connect_lazy("postgres://someone:secret-word@127.0.0.1:1/nowhere")
        .unwrap();
    let error = Inbox::from_registry().store(PgInboxStore::new(pool)).build().await.unwrap_err();
    let told = format!("{error} {error:?}");
    assert!(told.contains("cannot be checked"), "{told}");
    assert!(!told.contains("secret-word"), "{told}");
}
