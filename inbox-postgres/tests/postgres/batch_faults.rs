//! The connection of a batch dies, or falls silent.

use std::time::Duration;

use inbox::{Consumer, DispatchErrorKind, Envelope, HandlerRegistration, Inbox, Outcome};
use inbox_postgres::PgInboxStore;
use test_servers::proxy::{Action, Proxy, Trigger};

use crate::bed::{Bed, CONSUMER, Run, message, store};

const WRITE: &str = "INSERT INTO effects VALUES ('a')";

struct Cut {
    bed: Bed,
    proxy: Proxy,
    consumer: Consumer<PgInboxStore>,
    envelopes: Vec<Envelope>,
}

impl Cut {
    async fn new() -> Self {
        let bed = Bed::new().await;
        let proxy = Proxy::in_front_of(bed.database.direct_url()).unwrap();
        let url = proxy.url_for(bed.database.direct_url()).unwrap();
        let options = sqlx::postgres::PgPoolOptions::new().max_connections(2);
        let pool = options.connect(&url).await.unwrap();
        let handler = HandlerRegistration::new::<Run>(CONSUMER, "run");
        let inbox = Inbox::builder()
            .store(store(pool))
            .state(bed.signals.clone())
            .register(handler.with_timeout(Duration::from_millis(500)))
            .claim_wait(Duration::from_millis(500))
            .deadline(Duration::from_secs(2))
            .build()
            .await
            .unwrap();
        let consumer = inbox.consumer(CONSUMER).unwrap();
        let envelopes = (0..10).map(|_| message(WRITE)).collect();
        Self { bed, proxy, consumer, envelopes }
    }

    async fn dispatch(&self) -> Vec<Result<Outcome, inbox::DispatchError>> {
        self.consumer.dispatch_batch(&self.envelopes).await
    }

    /// Everything was processed by this batch, whatever happened in between.
    async fn assert_processed(&self) {
        for answer in self.dispatch().await {
            assert_eq!(answer.unwrap(), Outcome::Processed);
        }
        self.exactly_once().await;
    }

    async fn exactly_once(&self) {
        for answer in self.dispatch().await {
            assert!(matches!(answer.unwrap(), Outcome::Processed | Outcome::SkippedDuplicate));
        }
        assert_eq!((self.bed.effects().await, self.bed.rows().await), (10, 10));
    }
}

#[tokio::test]
async fn a_connection_lost_in_the_middle_of_a_batch_costs_a_second_run() {
    for trigger in [
        Trigger::client().containing("BEGIN"),
        Trigger::client().containing("unnest"),
        Trigger::client().containing("INTO effects"),
        Trigger::client().containing("INTO effects").nth(7),
        Trigger::client().containing("INTO effects").nth(10),
    ] {
        for trigger in [trigger.clone().before(), trigger.after()] {
            let cut = Cut::new().await;
            let rule = cut.proxy.on(trigger.clone(), Action::Cut);
            cut.assert_processed().await;
            assert!(rule.has_fired(), "{trigger:?}");
        }
    }
}

#[tokio::test]
async fn a_batch_whose_commit_is_cut_off_is_found_out_about() {
    for (after, starts) in [(true, 10), (false, 20)] {
        let cut = Cut::new().await;
        let commit = Trigger::client().containing("finish()");
        let commit = if after { commit.after() } else { commit.before() };
        let rule = cut.proxy.on(commit, Action::Cut);
        for answer in cut.dispatch().await {
            assert_eq!(answer.unwrap(), Outcome::Processed);
        }
        assert!(rule.has_fired());
        assert_eq!(cut.bed.signals.starts(), starts, "run again although it was durable, or not");
        cut.exactly_once().await;
    }
}

#[tokio::test]
async fn a_batch_whose_commit_falls_silent_is_unknown_and_bounded() {
    let cut = Cut::new().await;
    let rule = cut.proxy.on(Trigger::client().containing("finish()").before(), Action::Stall);
    for answer in cut.dispatch().await {
        let error = answer.unwrap_err();
        assert_eq!(error.kind(), DispatchErrorKind::CommitUnknown, "{error:?}");
        assert!(error.is_transient());
    }
    assert!(rule.has_fired());
    cut.proxy.cut_all();
    cut.proxy.heal();
    cut.exactly_once().await;
}

#[tokio::test]
async fn a_batch_whose_handler_falls_silent_loses_nothing() {
    let cut = Cut::new().await;
    let statement = Trigger::client().containing("INTO effects").nth(4).before();
    let rule = cut.proxy.on(statement, Action::Stall);
    for answer in cut.dispatch().await {
        let error = answer.unwrap_err();
        assert!(error.is_transient(), "{error:?}");
    }
    assert!(rule.has_fired());
    cut.proxy.cut_all();
    cut.proxy.heal();
    cut.exactly_once().await;
}
