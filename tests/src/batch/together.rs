//! All goes well: one commit for many.

use inbox::{InboxBuilder, NoStore, Outcome};

use super::answers::{assert_processed, assert_redelivered, assert_true, good};
use crate::bench::{Bench, handler, id_of};
use crate::command::envelope;
use crate::harness::Harness;

pub async fn a_batch_is_committed_in_one_transaction_in_the_order_of_delivery<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let envelopes = good(100);
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_processed(&answers);
    assert_true(&bench, &envelopes, &answers).await;
    let ids: Vec<_> = envelopes.iter().map(|envelope| id_of(envelope).to_string()).collect();
    assert_eq!(bench.probe.messages(), ids, "not in the order of delivery, or not once each");
    let calls = bench.plan.calls();
    let of = |what| calls.iter().filter(|call| **call == what).count();
    assert_eq!((of("open"), of("commit"), of("claim")), (1, 1, 0), "{calls:?}");
    assert_redelivered(&bench, &envelopes).await;
}

pub async fn an_empty_batch_opens_nothing<H: Harness>() {
    let bench = Bench::<H>::start().await;
    assert!(bench.dispatch_batch(&[]).await.is_empty());
    assert_eq!(bench.plan.calls(), [] as [&str; 0]);
}

pub async fn a_batch_of_one_is_a_dispatch<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let envelopes = good(1);
    assert_processed(&bench.dispatch_batch(&envelopes).await);
    assert_eq!(bench.plan.calls(), ["claim", "commit"]);
    assert_redelivered(&bench, &envelopes).await;
}

pub async fn more_messages_than_a_transaction_takes_are_all_processed<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let envelopes = good(1_203);
    let answers = bench.dispatch_batch(&envelopes).await;
    assert_processed(&answers);
    assert_true(&bench, &envelopes, &answers).await;
    assert_eq!(bench.probe.starts(), 1_203);
    let again = bench.dispatch_batch(&envelopes).await;
    assert!(again.into_iter().all(|answer| answer.unwrap() == Outcome::SkippedDuplicate));
    assert_eq!(bench.probe.starts(), 1_203);
}

pub async fn several_handlers_of_each_message_run_in_their_order<H: Harness>() {
    let two = |builder: InboxBuilder<NoStore>| {
        builder.register(handler::<H, 0>("first")).register(handler::<H, 1>("second"))
    };
    let bench = Bench::<H>::with(two).await;
    let envelopes = good(3);
    assert_processed(&bench.dispatch_batch(&envelopes).await);
    assert_eq!(bench.probe.order(), [0, 1, 0, 1, 0, 1]);
    for envelope in &envelopes {
        assert_eq!(bench.effects_of(envelope).await, ["0", "1"]);
    }
}

pub async fn a8_what_100_batches_at_once_wrote_is_all_there<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let consumer = bench.consumer();
        let envelopes = vec![envelope([]), envelope([]), envelope([])];
        running.spawn(async move { (consumer.dispatch_batch(&envelopes).await, envelopes) });
    }
    for (answers, envelopes) in running.join_all().await {
        assert_processed(&answers);
        for envelope in &envelopes {
            assert_eq!(bench.effects_of(envelope).await, ["0"]);
            assert!(bench.has_row(envelope).await);
        }
    }
}
