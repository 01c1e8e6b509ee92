//! The durable count of tries.

use inbox::{Attempts, Outcome};

use crate::bench::{Bench, CONSUMER, id_of};
use crate::command::envelope;
use crate::harness::Harness;

pub async fn tries_are_counted_for_each_consumer_and_message<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (store, one, two) = (bench.inbox.store(), id_of(&envelope([])), id_of(&envelope([])));
    assert_eq!(store.begun(CONSUMER, one).await.unwrap(), 0);
    for expected in 1..=3 {
        assert_eq!(store.begin(CONSUMER, one).await.unwrap(), expected);
    }
    assert_eq!(store.begin("another", one).await.unwrap(), 1);
    assert_eq!(store.begin(CONSUMER, two).await.unwrap(), 1);
    assert_eq!(store.begun(CONSUMER, one).await.unwrap(), 3);
}

pub async fn a_try_that_is_taken_back_is_not_counted_and_none_falls_below_zero<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (store, id) = (bench.inbox.store(), id_of(&envelope([])));
    store.take_back(CONSUMER, id).await.unwrap(); // there is none
    assert_eq!(store.begin(CONSUMER, id).await.unwrap(), 1);
    for _ in 0..2 {
        store.take_back(CONSUMER, id).await.unwrap();
        assert_eq!(store.begun(CONSUMER, id).await.unwrap(), 0);
    }
    assert_eq!(store.begin(CONSUMER, id).await.unwrap(), 1);
}

pub async fn a_message_that_is_forgotten_begins_anew<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let (store, id) = (bench.inbox.store(), id_of(&envelope([])));
    store.begin(CONSUMER, id).await.unwrap();
    store.begin("another", id).await.unwrap();
    store.forget(CONSUMER, id).await.unwrap();
    assert_eq!(store.begun(CONSUMER, id).await.unwrap(), 0);
    assert_eq!(store.begun("another", id).await.unwrap(), 1);
}

pub async fn a_counted_try_survives_whatever_becomes_of_the_dispatch<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let message = envelope([crate::command::End::Error]);
    let id = id_of(&message);
    bench.inbox.store().begin(CONSUMER, id).await.unwrap();
    assert!(bench.dispatch(&message).await.is_err());
    assert_eq!(bench.inbox.store().begun(CONSUMER, id).await.unwrap(), 1);
    bench.probe.mend();
    assert_eq!(bench.dispatch(&message).await.unwrap(), Outcome::Processed);
    assert_eq!(bench.inbox.store().begun(CONSUMER, id).await.unwrap(), 1);
}
