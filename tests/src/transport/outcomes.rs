//! The rows of the outcome table that are settled at once.

use std::time::Duration;

use inbox::{DeadLettersTo, Envelope, Fault, Outcome};
use uuid::Uuid;

use super::bench::Line;
use super::broker::Broker;
use crate::command::{Command, End, envelope};
use crate::harness::Harness;
use crate::plan::ClaimFault;

pub async fn a_processed_message_is_acknowledged<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let subscription = line.subscribe(Line::<H, B>::options()).await;
    let message = line.publish(End::Ok).await;
    line.settled().await;
    line.stop(subscription).await;
    assert_eq!(line.starts_of(&message), 1);
    line.assert_each_once(&[message]).await;
    line.letters(0).await;
}

pub async fn c2_a_duplicate_is_skipped_and_acknowledged<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let processed = envelope([]);
    line.process(&processed).await;
    let twice = envelope([]);
    for message in [&processed, &twice, &twice, &processed] {
        line.broker.publish(message).await;
    }
    let subscription = line.subscribe(Line::<H, B>::options()).await;
    line.settled().await;
    line.stop(subscription).await;
    assert_eq!((line.starts_of(&processed), line.starts_of(&twice)), (1, 1));
    line.assert_each_once(&[processed, twice]).await;
}

pub async fn a_message_that_nobody_handles_is_put_away_with_its_reason<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let payload = format!("{{\"secret\":\"{}\"}}", Command::SECRET);
    line.broker
        .publish(&Envelope::new(Uuid::new_v4(), "conformance.unknown.v1", payload.clone()))
        .await;
    let subscription = line.subscribe(Line::<H, B>::options()).await;
    let [letter] = line.letters(1).await.try_into().unwrap();
    line.settled().await;
    line.stop(subscription).await;
    assert_eq!((letter.reason.as_str(), letter.attempts), ("permanent", 1));
    assert_eq!(letter.consumer, crate::CONSUMER);
    assert_eq!(letter.payload, payload.as_bytes());
    assert!(letter.error.contains("no handler"), "{}", letter.error);
    assert!(!letter.error.contains(Command::SECRET), "{}", letter.error);
}

pub async fn p3_an_undecodable_message_is_put_away_and_the_others_flow<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let before = line.publish(End::Ok).await;
    let payload = format!("{{\"secret\":\"{}\"", Command::SECRET);
    line.broker.publish(&Envelope::new(Uuid::new_v4(), crate::COMMAND, payload.clone())).await;
    let after = line.publish(End::Ok).await;
    let subscription = line.subscribe(Line::<H, B>::options()).await;
    let [letter] = line.letters(1).await.try_into().unwrap();
    line.settled().await;
    line.stop(subscription).await;
    assert_eq!(letter.payload, payload.as_bytes());
    assert!(!letter.error.contains(Command::SECRET), "{}", letter.error);
    line.assert_each_once(&[before, after]).await;
}

pub async fn k5_a_message_without_an_id_or_unreadable_is_put_away<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let payload = envelope([]).payload().to_vec();
    line.broker.publish(&Envelope::new(None::<&str>, crate::COMMAND, payload)).await;
    line.broker.publish_unusable().await;
    let flows = line.publish(End::Ok).await;
    let subscription = line.subscribe(Line::<H, B>::options()).await;
    let letters = line.letters(2).await;
    line.settled().await;
    line.stop(subscription).await;
    for letter in letters {
        assert_eq!(letter.reason, "permanent");
        assert!(letter.error.contains("invalid envelope"), "{}", letter.error);
        assert!(!letter.payload.is_empty());
    }
    line.assert_each_once(&[flows]).await;
}

pub async fn an_error_marked_permanent_is_put_away_at_once<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let message = line.publish(End::Permanent).await;
    let subscription = line.subscribe(Line::<H, B>::options()).await;
    let [letter] = line.letters(1).await.try_into().unwrap();
    line.settled().await;
    line.stop(subscription).await;
    assert_eq!((letter.reason.as_str(), letter.attempts), ("permanent", 1));
    assert!(letter.error.contains("handler 0 refuses"), "{}", letter.error);
    assert_eq!(line.starts_of(&message), 1);
    assert!(!line.bench.has_row(&message).await);
}

pub async fn a_message_in_flight_or_without_a_connection_is_held_and_costs_no_attempt<
    H: Harness,
    B: Broker,
>() {
    let line = Line::<H, B>::start().await;
    let message = line.publish(End::Ok).await;
    line.bench
        .plan
        .claims([ClaimFault::InFlight; 20].into_iter().chain([ClaimFault::Fails(Fault::Busy); 2]));
    // Fewer than it has tries without a chance.
    let retries = Line::<H, B>::options().retry_policy().attempts(2);
    let subscription = line.subscribe(Line::<H, B>::options().batch(1).retries(retries)).await;
    line.until("the message is held", async || line.bench.plan.calls().len() > 21).await;
    assert_eq!(line.starts_of(&message), 0);
    line.settled().await;
    line.stop(subscription).await;
    assert_eq!(line.starts_of(&message), 1);
    line.assert_each_once(&[message]).await;
    line.letters(0).await;
}

pub async fn a_dead_letter_in_the_stores_table_is_durable_and_replayed<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let message = line.publish(End::Permanent).await;
    line.broker.publish_unusable().await;
    let options = Line::<H, B>::options().dead_letters(DeadLettersTo::Store);
    let subscription = line.subscribe(options).await;
    line.settled().await;
    line.stop(subscription).await;
    line.letters(0).await;
    let stored = line.stored_letters().await;
    assert_eq!(stored.len(), 2);
    line.bench.probe.mend();
    let id = Some(crate::bench::id_of(&message));
    let [key] = *stored
        .iter()
        .filter(|one| one.letter.message_id == id)
        .map(|one| one.letter.key)
        .collect::<Vec<_>>()
    else {
        panic!("{stored:?}")
    };
    assert_eq!(line.bench.consumer().replay(key).await.unwrap(), Outcome::Processed);
    assert_eq!(line.stored_letters().await.len(), 1);
    line.bench.assert_committed_once(&message).await;
}

pub async fn a_handler_of_three_ack_waits_is_not_delivered_to_others<H: Harness, B: Broker>() {
    let line = Line::<H, B>::start().await;
    let message = line.publish(End::Wait(Box::new(End::Ok))).await;
    let options = || Line::<H, B>::options().batch(1).workers(2);
    let subscriptions = [line.subscribe(options()).await, line.subscribe(options()).await];
    line.bench.probe.arrived().await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    line.bench.probe.open();
    line.settled().await;
    for subscription in subscriptions {
        line.stop(subscription).await;
    }
    let claims = line.bench.plan.calls().iter().filter(|call| **call == "claim").count();
    assert_eq!((line.starts_of(&message), claims), (1, 1), "it was delivered again");
    line.assert_each_once(&[message]).await;
}
