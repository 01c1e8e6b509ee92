//! The application's session is left as it was, and durability is set right.

use inbox::{Inbox, Outcome};
use inbox_postgres::PgInboxStore;

use crate::bed::{Bed, CONSUMER, inbox_with, message, through_a_pooler};

#[tokio::test]
async fn settings_hold_for_the_transaction_only() {
    settings_hold(async |inbox, script| {
        assert_eq!(inbox.dispatch(&message(script)).await.unwrap(), Outcome::Processed);
    })
    .await;
}

#[tokio::test]
async fn settings_hold_for_the_transaction_of_a_batch_only() {
    settings_hold(in_a_batch).await;
}

async fn in_a_batch(inbox: &Inbox<PgInboxStore>, script: &str) {
    let envelopes = [message("SELECT 1"), message(script)];
    for answer in inbox.consumer(CONSUMER).unwrap().dispatch_batch(&envelopes).await {
        assert_eq!(answer.unwrap(), Outcome::Processed);
    }
}

async fn settings_hold(dispatch: impl AsyncFnOnce(&Inbox<PgInboxStore>, &str)) {
    let bed = Bed::with(|pool| pool.max_connections(1), |session| session).await;
    bed.run(
        "SET statement_timeout = '7s'; SET idle_in_transaction_session_timeout = '9s'; \
         SET synchronous_commit = off; SET search_path = public, pg_temp; SET application_name = 'mine'",
    )
    .await;
    bed.run("CREATE TABLE seen (name text, value text)").await;
    let inbox = bed.inbox().await;
    let script = "INSERT INTO seen SELECT name, current_setting(name) FROM unnest(ARRAY[\
        'statement_timeout', 'idle_in_transaction_session_timeout', 'synchronous_commit', \
        'search_path', 'application_name']) AS name";
    dispatch(&inbox, script).await;
    let seen = |name: &str, value: &str| {
        format!("SELECT count(*) FROM seen WHERE name = '{name}' AND value = '{value}'")
    };
    for (name, inside) in [
        ("statement_timeout", "7s"), // the session allows less than the handler's 30 s
        ("idle_in_transaction_session_timeout", "1min"),
        ("synchronous_commit", "on"),
        ("search_path", "public, pg_temp"),
        ("application_name", "mine"),
    ] {
        assert_eq!(bed.number(&seen(name, inside)).await, 1, "inside: {name}");
    }
    let pooled = through_a_pooler();
    for (name, after) in [
        ("statement_timeout", "7s"),
        ("idle_in_transaction_session_timeout", "9s"),
        ("synchronous_commit", "off"),
        ("search_path", "public, pg_temp"),
    ] {
        let sql = format!("SELECT (current_setting('{name}') = '{after}')::int::bigint");
        assert!(pooled || bed.number(&sql).await == 1, "after: {name}");
    }
    let guards = "SELECT (coalesce(current_setting('inbox.guard', true), '') = '' \
                  AND coalesce(current_setting('inbox.finish', true), '') = '')::int::bigint";
    assert_eq!(bed.number(guards).await, 1, "the marks are gone with the transaction");
}

#[tokio::test]
async fn a_statement_timeout_bounds_what_a_handler_leaves_behind() {
    let bed = Bed::new().await;
    let inbox = bed.inbox().await;
    bed.run("CREATE TABLE seen (value text)").await;
    let script = "INSERT INTO seen SELECT current_setting('statement_timeout')";
    assert_eq!(inbox.dispatch(&message(script)).await.unwrap(), Outcome::Processed);
    in_a_batch(&inbox, script).await;
    // The handler's 30 s and a margin of one.
    assert_eq!(bed.number("SELECT count(*) FROM seen WHERE value = '31s'").await, 2);
    let name = bed.database.name();
    bed.run(&format!("ALTER DATABASE {name} SET statement_timeout = '10min'")).await;
    let pool = sqlx::PgPool::connect(bed.database.direct_url()).await.unwrap();
    let store = PgInboxStore::new(pool).accept_fsync_off();
    let inbox = inbox_with(store, bed.signals.clone()).build().await.unwrap();
    assert_eq!(inbox.dispatch(&message(script)).await.unwrap(), Outcome::Processed);
    in_a_batch(&inbox, script).await;
    let bounded = bed.number("SELECT count(*) FROM seen WHERE value = '31s'").await;
    assert_eq!(bounded, 4, "a session that allows more is bounded too");
}

#[tokio::test]
async fn a_handlers_own_begin_is_a_savepoint() {
    use inbox::{Delivery, Handler, HandlerFuture, HandlerRegistration};
    use inbox_postgres::PgTx;
    use sqlx::{Acquire as _, Executor as _};

    struct Nested;
    impl Handler for Nested {
        type Event = crate::bed::Script;
        fn call<'a>(_event: Self::Event, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
            Box::pin(async move {
                let mut tx: PgTx<'_> = delivery.extract()?;
                let mut inner = tx.begin().await?;
                inner.execute("INSERT INTO effects VALUES ('kept')").await?;
                inner.commit().await?;
                let mut dropped = tx.begin().await?;
                dropped.execute("INSERT INTO effects VALUES ('dropped')").await?;
                drop(dropped);
                Ok(())
            })
        }
    }

    let bed = Bed::new().await;
    let registration = HandlerRegistration::new::<Nested>(crate::bed::CONSUMER, "nested");
    let inbox = Inbox::builder().store(bed.store()).register(registration).build().await.unwrap();
    assert_eq!(inbox.dispatch(&message("")).await.unwrap(), Outcome::Processed);
    assert_eq!((bed.effects().await, bed.rows().await), (1, 1));
    assert_eq!(bed.number("SELECT count(*) FROM effects WHERE key = 'kept'").await, 1);
}
