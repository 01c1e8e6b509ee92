//! The table of dead letters, and replay.

use inbox::{
    DeadLetter, DeadLetterReason, DeadLetters, Envelope, Outcome, ReplayError, StoredDeadLetter,
};
use uuid::Uuid;

use crate::bench::{Bench, CONSUMER, id_of};
use crate::command::{Command, End, envelope};
use crate::harness::Harness;

fn letter(envelope: &Envelope) -> DeadLetter {
    let id = id_of(envelope);
    DeadLetter {
        key: id.as_uuid(),
        consumer: CONSUMER.to_owned(),
        message_id: Some(id),
        envelope: envelope.clone(),
        reason: DeadLetterReason::AttemptsExhausted,
        error: "handler `obey` failed".to_owned(),
        attempts: 10,
    }
}

async fn all<H: Harness>(bench: &Bench<H>) -> Vec<StoredDeadLetter> {
    bench.inbox.store().dead_letters(CONSUMER, None, 100).await.unwrap()
}

pub async fn a_dead_letter_is_kept_whole<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let message = envelope([End::Error])
        .with_source("https://shop.example")
        .with_ordering_key("tea")
        .with_delivery_attempt(3)
        .with_header("traceparent", "00-1");
    let put = letter(&message);
    bench.inbox.store().put_away(&put).await.unwrap();
    let got = bench.inbox.store().dead_letter(CONSUMER, put.key).await.unwrap().unwrap();
    assert_eq!(got.letter.metadata(), put.metadata());
    assert_eq!(got.letter.envelope.payload(), message.payload());
    assert_eq!(got.letter.message_id, put.message_id);
    assert_eq!(got.letter.error, put.error);
    assert_eq!((got.letter.reason, got.letter.attempts), (put.reason, 10));
    assert_eq!(got.first_at, got.last_at);
    assert!(bench.inbox.store().dead_letter("another", put.key).await.unwrap().is_none());
    assert!(!format!("{got:?}").contains(Command::SECRET));
}

pub async fn a_message_that_nobody_can_use_is_kept_too<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let bytes = [0, 0xff, 0x22, 0];
    let message = Envelope::new(Some("nul \0 id"), "nul \0 type", bytes).with_header("n\0", "\0");
    let key = Uuid::new_v4();
    let error = "a text with \0 in it".to_owned();
    let put = DeadLetter { key, message_id: None, error, ..letter(&envelope([])) };
    let put = DeadLetter { envelope: message, ..put };
    bench.inbox.store().put_away(&put).await.unwrap();
    let got = bench.inbox.store().dead_letter(CONSUMER, key).await.unwrap().unwrap();
    assert_eq!(got.letter.metadata(), put.metadata());
    assert_eq!(got.letter.envelope.payload(), bytes);
    assert_eq!(got.letter.message_id, None);
}

pub async fn put_away_again_it_is_one_letter_and_keeps_the_better_reason<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let store = bench.inbox.store();
    let put = letter(&envelope([]));
    store.put_away(&put).await.unwrap();
    let first_at = all(&bench).await[0].first_at;
    let (error, reason) = ("it never answered".to_owned(), DeadLetterReason::NeverAnswered);
    store.put_away(&DeadLetter { error, reason, attempts: 11, ..put.clone() }).await.unwrap();
    let [kept] = all(&bench).await.try_into().unwrap();
    assert_eq!((kept.letter.reason, &kept.letter.error), (put.reason, &put.error));
    assert_eq!((kept.letter.attempts, kept.first_at), (11, first_at));
    let (error, reason) = ("it said so".to_owned(), DeadLetterReason::Permanent);
    store.put_away(&DeadLetter { error: error.clone(), reason, ..put }).await.unwrap();
    let [kept] = all(&bench).await.try_into().unwrap();
    assert_eq!((kept.letter.reason, kept.letter.error), (reason, error));
    assert!(kept.last_at >= kept.first_at);
}

pub async fn letters_are_listed_page_by_page_the_oldest_first<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let store = bench.inbox.store();
    let mut put = Vec::new();
    for _ in 0..7 {
        let letter = letter(&envelope([]));
        store.put_away(&letter).await.unwrap();
        put.push(letter.key);
    }
    let mut listed: Vec<StoredDeadLetter> = Vec::new();
    loop {
        let page = store.dead_letters(CONSUMER, listed.last(), 3).await.unwrap();
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 3);
        listed.extend(page);
    }
    assert!(listed.is_sorted_by_key(|stored| (stored.first_at, stored.letter.key)));
    let mut keys: Vec<Uuid> = listed.iter().map(|stored| stored.letter.key).collect();
    keys.sort_unstable();
    put.sort_unstable();
    assert_eq!(keys, put);
    assert!(store.dead_letters("another", None, 3).await.unwrap().is_empty());
}

pub async fn a_discarded_letter_is_gone<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let put = letter(&envelope([]));
    bench.inbox.store().put_away(&put).await.unwrap();
    assert!(!bench.inbox.store().discard("another", put.key).await.unwrap());
    assert!(bench.inbox.store().discard(CONSUMER, put.key).await.unwrap());
    assert!(!bench.inbox.store().discard(CONSUMER, put.key).await.unwrap());
    assert!(all(&bench).await.is_empty());
}

pub async fn p4_a_replayed_letter_goes_through_the_same_dedup_path_and_ends<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let message = envelope([End::Error]);
    let put = letter(&message);
    bench.inbox.store().put_away(&put).await.unwrap();
    let failed = bench.consumer().replay(put.key).await;
    assert!(matches!(failed, Err(ReplayError::Dispatch(_))), "{failed:?}");
    let [kept] = all(&bench).await.try_into().unwrap();
    assert_eq!(kept.letter.attempts, 11);
    bench.probe.mend();
    assert_eq!(bench.consumer().replay(put.key).await.unwrap(), Outcome::Processed);
    assert!(all(&bench).await.is_empty());
    let gone = bench.consumer().replay(put.key).await;
    assert!(matches!(gone, Err(ReplayError::NotFound)), "{gone:?}");
    bench.assert_committed_once(&message).await;
}

pub async fn a_letter_whose_message_was_processed_meanwhile_is_skipped_at_its_replay<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let message = envelope([]);
    bench.inbox.store().put_away(&letter(&message)).await.unwrap();
    assert_eq!(bench.dispatch(&message).await.unwrap(), Outcome::Processed);
    let replayed = bench.consumer().replay(id_of(&message).as_uuid()).await.unwrap();
    assert_eq!(replayed, Outcome::SkippedDuplicate);
    assert_eq!(bench.probe.starts(), 1);
    assert!(all(&bench).await.is_empty());
}
