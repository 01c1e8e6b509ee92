use super::*;

fn read(json: &str) -> Result<Envelope, InvalidEnvelope> {
    Envelope::from_cloud_event_json(json.as_bytes())
}

#[test]
fn every_attribute_finds_its_place_and_comes_back() {
    let json = r#"{"specversion":"1.0","id":"17","source":"/shop","type":"t.v1",
        "time":"2026-05-04T03:02:01.5Z","datacontenttype":"application/json",
        "partitionkey":"sku-1","correlationid":"c","causationid":"d",
        "traceparent":"00-ab-cd-01","number":7,"nothing":null,
        "data":{"big": 12345678901234567890.10, "text": "\u00e9"}}"#;
    let first = read(json).unwrap();
    let written = first.to_cloud_event_json().unwrap();
    for envelope in [first, read(&written).unwrap()] {
        assert_eq!(envelope.raw_id().as_deref(), Some("17"));
        assert_eq!(envelope.source(), Some("/shop"));
        assert_eq!(envelope.event_type(), "t.v1");
        assert_eq!(envelope.occurred_at().unwrap().unix_timestamp(), 1_777_863_721);
        assert_eq!(envelope.content_type(), Some("application/json"));
        assert_eq!(envelope.ordering_key(), Some("sku-1"));
        assert_eq!(envelope.correlation_id(), Some("c"));
        assert_eq!(envelope.causation_id(), Some("d"));
        assert_eq!(envelope.headers().get("TraceParent"), Some("00-ab-cd-01"));
        assert_eq!(envelope.headers().get("number"), Some("7"));
        assert_eq!(envelope.headers().get("nothing"), None);
        let payload = r#"{"big": 12345678901234567890.10, "text": "\u00e9"}"#;
        assert_eq!(envelope.payload(), payload.as_bytes());
    }
}

#[test]
fn text_and_binary_payloads_come_back() {
    let head = r#"{"specversion":"1.0","id":"1","source":"s","type":"t""#;
    let text = read(&format!(r#"{head},"datacontenttype":"text/csv","data":"a,b"}}"#)).unwrap();
    assert_eq!(text.payload(), b"a,b");
    let binary = read(&format!(r#"{head},"data_base64":"/wA="}}"#)).unwrap();
    assert_eq!(binary.payload(), [0xff, 0]);
    let null = read(&format!(r#"{head},"data":null}}"#)).unwrap();
    assert_eq!(null.payload(), b"null");
    let empty = read(&format!("{head}}}")).unwrap();
    for envelope in [text, binary, null, empty] {
        let again = read(&envelope.to_cloud_event_json().unwrap()).unwrap();
        assert_eq!(again.payload(), envelope.payload());
    }
}

#[test]
fn an_empty_object_of_data_keeps_its_braces() {
    let envelope = Envelope::new("1", "t", "{}").with_source("s");
    let written = envelope.to_cloud_event_json().unwrap();
    assert_eq!(read(&written).unwrap().payload(), b"{}");
}

#[test]
fn what_is_no_cloud_event_is_told_by_attribute_and_never_quoted() {
    let cases = [
        ("", "CloudEvent"),
        ("[]", "CloudEvent"),
        ("{\"id\":\"4111\",\"id\":\"4112\"}", "CloudEvent"),
        (r#"{"id":"4111"}"#, "specversion"),
        (r#"{"specversion":"0.3","id":"4111"}"#, "specversion"),
        (r#"{"specversion":"1.0","id":4111}"#, "id"),
        (r#"{"specversion":"1.0","id":null}"#, "id"),
        (r#"{"specversion":"1.0","id":" "}"#, "id"),
        (r#"{"specversion":"1.0","id":"4111","type":"t"}"#, "source"),
        (r#"{"specversion":"1.0","id":"4111","source":"s"}"#, "type"),
        (r#"{"specversion":"1.0","id":"1","source":"s","type":"t","time":"4111"}"#, "time"),
        (
            r#"{"specversion":"1.0","id":"1","source":"s","type":"t","data_base64":"4111!"}"#,
            "data_base64",
        ),
        (
            r#"{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"text/plain","data":"\ud800"}"#,
            "data",
        ),
        (r#"{"specversion":"1.0","id":"\udc00 411"}"#, "id"),
        (
            r#"{"specversion":"1.0","id":"1","source":"s","type":"t","x411":"\ud83d"}"#,
            "extension attribute",
        ),
        (
            r#"{"specversion":"1.0","id":"1","source":"s","type":"t","data":1,"data_base64":""}"#,
            "data",
        ),
    ];
    for (json, field) in cases {
        let refused = read(json).unwrap_err();
        assert_eq!(refused.field(), field, "{json}");
        assert!(!refused.to_string().contains("411"), "{refused}");
    }
}

#[test]
fn json_is_told_from_other_content_types() {
    for json in [None, Some("application/json; charset=utf-8"), Some("text/JSON")] {
        assert!(is_json(json));
    }
    assert!(is_json(Some("application/vnd.acme.order+json")));
    for other in ["", "json", "application/jsonl", "application/xml"] {
        assert!(!is_json(Some(other)), "{other}");
    }
}
