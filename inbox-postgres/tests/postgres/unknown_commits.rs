//! The connection dies, or falls silent, around a COMMIT.

use std::time::Duration;

use inbox::{DispatchErrorKind, Envelope, HandlerRegistration, Inbox, Outcome};
use inbox_postgres::PgInboxStore;
use test_servers::proxy::{Action, Proxy, Trigger};

use crate::bed::{Bed, CONSUMER, Run, message, store};

const WRITE: &str = "INSERT INTO effects VALUES ('a')";

struct Cut {
    bed: Bed,
    proxy: Proxy,
    inbox: Inbox<PgInboxStore>,
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
        Self { bed, proxy, inbox }
    }

    async fn exactly_once(&self, envelope: &Envelope) {
        let again = self.inbox.dispatch(envelope).await.unwrap();
        assert!(matches!(again, Outcome::Processed | Outcome::SkippedDuplicate));
        assert_eq!((self.bed.effects().await, self.bed.rows().await), (1, 1));
    }
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_is_found_to_be_processed() {
    let cut = Cut::new().await;
    let rule = cut.proxy.on(Trigger::client().containing("COMMIT").after(), Action::Cut);
    let envelope = message(WRITE);
    assert_eq!(cut.inbox.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    assert!(rule.has_fired());
    assert_eq!((cut.bed.effects().await, cut.bed.rows().await), (1, 1));
    cut.exactly_once(&envelope).await;
}

#[tokio::test]
async fn a_commit_that_never_arrived_is_found_to_be_rolled_back() {
    let cut = Cut::new().await;
    let rule = cut.proxy.on(Trigger::client().containing("COMMIT").before(), Action::Cut);
    let envelope = message(WRITE);
    let error = cut.inbox.dispatch(&envelope).await.unwrap_err();
    assert!(rule.has_fired());
    assert_eq!(error.kind(), DispatchErrorKind::Store);
    assert!(error.is_transient() && error.counts_attempt(), "{error:?}");
    assert_eq!((cut.bed.effects().await, cut.bed.rows().await), (0, 0));
    cut.exactly_once(&envelope).await;
}

#[tokio::test]
async fn a_commit_that_falls_silent_is_bounded_by_the_deadline() {
    let cut = Cut::new().await;
    let rule = cut.proxy.on(Trigger::client().containing("COMMIT").before(), Action::Stall);
    let envelope = message(WRITE);
    let error = cut.inbox.dispatch(&envelope).await.unwrap_err();
    assert!(rule.has_fired());
    // The black-holed session still holds the pair, so nobody can say.
    assert_eq!(error.kind(), DispatchErrorKind::CommitUnknown, "{error:?}");
    assert!(error.is_transient());
    cut.proxy.cut_all();
    cut.proxy.heal();
    cut.exactly_once(&envelope).await;
}
