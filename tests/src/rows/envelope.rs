//! Nil or missing id, blank or oversized field, payload over the limit.

use inbox::{DispatchErrorKind as Kind, Envelope, InvalidEnvelope, Outcome};
use uuid::Uuid;

use crate::answer::{Failed, link};
use crate::bench::{Bench, handler};
use crate::command::{COMMAND, envelope};
use crate::harness::Harness;

/// The envelope is refused for `field`, permanently, and nothing was asked of the store.
async fn assert_refused<H: Harness>(bench: &Bench<H>, envelope: &Envelope, field: &str) {
    let error = bench.dispatch(envelope).await.permanent(Kind::InvalidEnvelope);
    assert_eq!(link::<InvalidEnvelope>(&error).field(), field, "{error:?}");
    assert!(error.to_string().contains(field), "{error}");
    assert_eq!(bench.plan.calls(), [] as [&str; 0], "the store was asked");
    assert_eq!(bench.probe.starts(), 0);
}

pub async fn k5_a_missing_nil_blank_or_oversized_id_is_refused_with_its_reason<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let with_id = |id: Option<&str>| Envelope::new(id, COMMAND, "{}").with_source("s");
    let (nil, long) = (Uuid::nil().to_string(), "x".repeat(1025));
    for id in [None, Some(""), Some("  "), Some("a\tb"), Some(nil.as_str()), Some(long.as_str())] {
        assert_refused(&bench, &with_id(id), "message id").await;
    }
    let nil = Envelope::new(Uuid::nil(), COMMAND, "{}");
    assert_refused(&bench, &nil, "message id").await;
    assert_eq!(bench.harness.dedup_rows(crate::CONSUMER).await, []);
    bench.assert_usable().await;
}

pub async fn a_blank_or_oversized_field_is_refused_naming_the_field<H: Harness>() {
    let bench = Bench::<H>::start().await;
    for text in [" ".to_owned(), "x".repeat(1025), "a\0b".to_owned()] {
        let whole = || envelope([]);
        let id = Uuid::new_v4();
        assert_refused(&bench, &Envelope::new(id, text.as_str(), "{}"), "event type").await;
        assert_refused(&bench, &whole().with_source(&text), "source").await;
        assert_refused(&bench, &whole().with_content_type(&text), "content type").await;
        assert_refused(&bench, &whole().with_correlation_id(&text), "correlation id").await;
        assert_refused(&bench, &whole().with_causation_id(&text), "causation id").await;
        assert_refused(&bench, &whole().with_ordering_key(&text), "ordering key").await;
    }
    assert_refused(&bench, &Envelope::new("evt_1", COMMAND, "{}"), "source").await;
}

pub async fn a_payload_over_the_limit_is_refused_and_one_at_the_limit_is_not<H: Harness>() {
    let envelope = envelope([]);
    let size = envelope.payload().len();
    let at = Bench::<H>::with(|b| b.payload_limit(size).register(handler::<H, 0>("obey"))).await;
    assert_eq!(at.dispatch(&envelope).await.unwrap(), Outcome::Processed);
    let over =
        Bench::<H>::with(|b| b.payload_limit(size - 1).register(handler::<H, 0>("obey"))).await;
    assert_refused(&over, &envelope, "payload").await;
}

pub async fn the_longest_allowed_texts_are_processed<H: Harness>() {
    let bench = Bench::<H>::start().await;
    let text = "é".repeat(512);
    let envelope = Envelope::new(text.as_str(), COMMAND, envelope([]).payload())
        .with_source(&text)
        .with_correlation_id(&text)
        .with_causation_id(&text)
        .with_ordering_key(&text);
    assert_eq!(bench.dispatch(&envelope).await.unwrap(), Outcome::Processed);
}
