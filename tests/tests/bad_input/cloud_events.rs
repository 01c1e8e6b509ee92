//! CloudEvents in their JSON form.

use conformance::cases;
use inbox::Envelope;
use proptest::prelude::*;
use proptest::sample::select;
use time::OffsetDateTime;

use crate::corpus;
use crate::input::{damaged, json, object_of, text, with_texts};
use crate::silence::{assert_silent, assert_silent_debug};

/// Documents that are CloudEvents, or nearly.
fn document() -> impl Strategy<Value = String> {
    let quoted = |choices: &[&'static str]| {
        let known = select(choices.to_vec()).prop_map(|text| format!("\"{text}\""));
        prop_oneof![9 => known, 1 => json()].boxed()
    };
    let encoded = prop_oneof![
        4 => Just("null".to_owned()),
        1 => quoted(&["", "/wA=", "/wA", "====", "e30=", "IHt9IA=="]),
    ];
    object_of(vec![
        ("specversion", quoted(&["1.0"])),
        ("id", quoted(&["17", "019b9e1c-3f6a-7c52-8d7e-0b6a4f1c2d3e", " "])),
        ("source", quoted(&["/shop", "https://shop.example/b\u{fc}cher"])),
        ("type", quoted(&["t.v1", "EC2 Instance State-change"])),
        (
            "time",
            quoted(&[
                "2026-05-04T03:02:01.5Z",
                "0000-01-01T00:00:00+23:59",
                "9999-12-31T23:59:60Z",
            ]),
        ),
        ("datacontenttype", quoted(&["application/json", "text/plain", "a/b+json", ""])),
        ("partitionkey", quoted(&["k"])),
        ("traceparent", json().boxed()),
        ("data", json().boxed()),
        ("data_base64", encoded.boxed()),
    ])
}

/// Refused without a word of it; or read, written and read again to the same message.
fn refused_or_right(bytes: &[u8]) {
    let first = match Envelope::from_cloud_event_json(bytes) {
        Ok(envelope) => envelope,
        Err(refused) => return assert_silent(&refused),
    };
    let written = first.to_cloud_event_json().expect("it has an id and a source");
    let second = Envelope::from_cloud_event_json(written.as_bytes()).expect("our own");
    assert_eq!(second.to_cloud_event_json().unwrap(), written);
    assert_same(&first, &second);
}

fn assert_same(first: &Envelope, second: &Envelope) {
    let trimmed = |envelope: &Envelope| envelope.payload().trim_ascii().to_vec();
    assert_eq!(trimmed(first), trimmed(second));
    assert_eq!(first.event_type(), second.event_type());
    assert_eq!(first.source(), second.source());
    assert_eq!(first.content_type(), second.content_type());
    assert_eq!(first.occurred_at(), second.occurred_at());
    assert_eq!(first.ordering_key(), second.ordering_key());
    assert_eq!(first.correlation_id(), second.correlation_id());
    assert_eq!(first.causation_id(), second.causation_id());
    for (name, value) in second.headers().iter() {
        assert_eq!(first.headers().get(name), Some(value), "{name}");
    }
}

/// Any message that a program may build.
fn envelope() -> impl Strategy<Value = Envelope> {
    let optional = || proptest::option::of(text());
    let payload = prop_oneof![any::<Vec<u8>>(), damaged(json())];
    let content = select(vec![None, Some("application/json"), Some("text/plain"), Some("x")]);
    let header = (prop_oneof![text(), "[a-z0-9]{1,4}", "id|data|time"], text());
    let headers = proptest::collection::vec(header, 0..4);
    let time = proptest::option::of(-62_000_000_000i64..250_000_000_000);
    (text(), text(), payload, content, text(), time, (optional(), optional(), optional()), headers)
        .prop_map(|(id, event_type, payload, content, source, time, (c, d, key), headers)| {
            let content = content.map(str::to_owned);
            let texts = [Some(source), content, key, c, d];
            let mut envelope = with_texts(Envelope::new(id, event_type, payload), texts);
            if let Some(time) = time {
                let time = OffsetDateTime::from_unix_timestamp(time).unwrap();
                envelope = envelope.with_occurred_at(time);
            }
            headers.into_iter().fold(envelope, |envelope, (n, v)| envelope.with_header(n, v))
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(400, 5_000)))]

    #[test]
    fn a_cloud_event_is_refused_or_read_rightly(bytes in damaged(document())) {
        refused_or_right(&bytes);
    }

    #[test]
    fn any_bytes_are_refused_or_read_rightly(bytes in any::<Vec<u8>>()) {
        refused_or_right(&bytes);
    }

    #[test]
    fn what_is_written_is_read_back(envelope in envelope()) {
        let written = envelope.to_cloud_event_json().unwrap();
        let read = Envelope::from_cloud_event_json(written.as_bytes()).unwrap();
        assert_same(&envelope, &read);
        prop_assert_eq!(read.to_cloud_event_json().unwrap(), written);
    }

    #[test]
    fn white_space_around_data_does_not_matter(data in json(), space in "[ \t\r\n]{0,5}") {
        let document = |space: &str| format!(
            r#"{{"specversion":"1.0","id":"1","source":"s","type":"t","data":{space}{data}{space}}}"#
        );
        let read = |space| Envelope::from_cloud_event_json(document(space).as_bytes());
        match (read(""), read(&space)) {
            (Ok(tight), Ok(spaced)) => prop_assert_eq!(tight.payload(), spaced.payload()),
            (tight, spaced) => {
                prop_assert_eq!(tight.unwrap_err().field(), spaced.unwrap_err().field());
            }
        }
    }

    #[test]
    fn a_log_of_an_envelope_shows_neither_payload_nor_header_values(
        payload in damaged(json()), value in text()
    ) {
        let envelope = Envelope::new("1", "t", payload).with_header("authorization", value);
        assert_silent_debug(&envelope);
    }
}

#[test]
fn the_corpus_is_refused_or_read_rightly() {
    for data in corpus::odd().into_iter().chain(corpus::enormous()) {
        refused_or_right(&data);
        let head = br#"{"specversion":"1.0","id":"1","source":"s","type":"t","data":"#;
        refused_or_right(&[head, data.as_slice(), b"}"].concat());
        let head = br#"{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"text/plain","data":"#;
        refused_or_right(&[head, data.as_slice(), b"}"].concat());
    }
}

/// Half of a surrogate pair is legal in JSON data, and is handed on as it is; it is no text, though.
#[test]
fn half_of_a_surrogate_pair_is_json_and_no_text() {
    let read = |content: &str, data: &str| {
        Envelope::from_cloud_event_json(
            format!(
                r#"{{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"{content}","data":{data}}}"#
            )
            .as_bytes(),
        )
    };
    let json = read("application/json", r#"["\ud800"]"#).unwrap();
    assert_eq!(json.payload(), br#"["\ud800"]"#);
    assert_eq!(read("text/plain", r#""\ud83d\ude00""#).unwrap().payload(), "😀".as_bytes());
    assert_eq!(read("text/plain", r#""\ud800""#).unwrap_err().field(), "data");
}
