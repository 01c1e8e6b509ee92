//! The pair was processed before, with a different body, event type or source.

use std::sync::Arc;

use inbox::{DispatchErrorKind as Kind, Envelope, OnIdReuse, Outcome};
use tracing::Level;

use crate::answer::Failed;
use crate::bench::{Bench, handler};
use crate::command::{COMMAND, End, envelope};
use crate::harness::{Harness, StoreOptions};
use crate::logs::Logs;
use crate::rows::unhandled::{OTHER, Other};

const KEEPS_ALL: StoreOptions = StoreOptions {
    connections: 1,
    wait: std::time::Duration::from_secs(30),
    keep_source: true,
    keep_fingerprint: true,
};

async fn bench<H: Harness>(options: StoreOptions, policy: OnIdReuse) -> Bench<H> {
    let harness = Arc::new(H::start().await);
    Bench::on(harness, options, |builder| {
        builder
            .on_id_reuse(policy)
            .register(handler::<H, 0>("obey"))
            .register(Other::registration())
    })
    .await
}

/// Processes `first`; then `second`, of the same id, is answered by policy, and told in any case.
async fn assert_by_policy<H: Harness>(
    options: StoreOptions,
    what: &str,
    first: Envelope,
    second: Envelope,
) {
    for policy in [OnIdReuse::Refuse, OnIdReuse::Skip] {
        let bench = bench::<H>(options, policy).await;
        assert_eq!(bench.dispatch(&first).await.unwrap(), Outcome::Processed);
        let logs = Logs::start();
        let answer = bench.dispatch(&second).await;
        match policy {
            OnIdReuse::Skip => assert_eq!(answer.unwrap(), Outcome::SkippedDuplicate),
            OnIdReuse::Refuse => {
                let error = answer.permanent(Kind::IdReused);
                assert!(error.to_string().contains(&format!("another {what}")), "{error}");
            }
        }
        let told = logs.of_the_inbox(Level::WARN);
        assert!(told.len() == 1 && told[0].contains(what), "{told:?}");
        assert_eq!(bench.probe.starts(), 1, "the second message's handler was started");
        assert_eq!(bench.harness.dedup_rows(crate::CONSUMER).await.len(), 1);
        bench.assert_committed_once(&first).await;
    }
}

/// The message of `envelope`'s id with another payload.
fn with_other_body(envelope: &Envelope) -> Envelope {
    let other = crate::command::envelope([End::Ok, End::Ok]);
    Envelope::new(crate::bench::id_of(envelope), COMMAND, other.payload())
}

pub async fn an_id_reused_with_another_event_type_is_answered_by_policy_and_told<H: Harness>() {
    let first = envelope([]);
    let second = Envelope::new(crate::bench::id_of(&first), OTHER, "{}");
    assert_by_policy::<H>(StoreOptions::default(), "event type", first, second).await;
}

pub async fn an_id_reused_with_an_event_type_nobody_handles_is_a_reused_id<H: Harness>() {
    let first = envelope([]);
    let second = Envelope::new(crate::bench::id_of(&first), "nobody.handles-this.v1", "{}");
    assert_by_policy::<H>(StoreOptions::default(), "event type", first, second).await;
}

pub async fn an_id_reused_with_another_source_is_answered_by_policy_where_it_is_kept<H: Harness>() {
    let first = envelope([]).with_source("shop");
    let second = first.clone().with_source("depot");
    assert_by_policy::<H>(KEEPS_ALL, "source", first, second).await;
}

pub async fn an_id_reused_with_another_body_is_answered_by_policy_where_it_is_kept<H: Harness>() {
    let first = envelope([]);
    let second = with_other_body(&first);
    assert_by_policy::<H>(KEEPS_ALL, "payload", first, second).await;
}

pub async fn the_same_message_is_no_reuse_where_everything_is_kept<H: Harness>() {
    let bench = bench::<H>(KEEPS_ALL, OnIdReuse::Refuse).await;
    let envelope = envelope([]).with_source("shop");
    assert_eq!(bench.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    let again = envelope.with_delivery_attempt(2).with_header("redelivered", "yes");
    assert_eq!(bench.dispatch(&again).await.unwrap(), Outcome::SkippedDuplicate);
}

pub async fn two_sources_with_one_uuid_are_two_messages_where_ids_are_unique_per_source<
    H: Harness,
>() {
    let bench = Bench::<H>::with(|builder| {
        builder.ids_unique_per_source().register(handler::<H, 0>("obey"))
    })
    .await;
    let envelope = envelope([]);
    for source in ["shop", "depot"] {
        let from = envelope.clone().with_source(source);
        assert_eq!(bench.dispatch(&from).await.unwrap(), Outcome::Processed, "{source}");
        assert_eq!(bench.dispatch(&from).await.unwrap(), Outcome::SkippedDuplicate, "{source}");
    }
    assert_eq!(bench.probe.starts(), 2);
}
