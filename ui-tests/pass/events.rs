use std::collections::HashMap;

use inbox::{Envelope, IntegrationEvent, integration_event};
use serde::Deserialize;

/// Named by its type.
#[integration_event]
#[derive(Debug, Deserialize)]
pub(crate) struct StockReceived;

#[derive(Debug, Deserialize)]
#[integration_event()]
enum r#Kind {
    Opened { by: String },
    Closed,
}

#[integration_event(name = "EC2 Instance State-change Notification")]
#[derive(Deserialize)]
#[serde(transparent)]
struct Aws(HashMap<String, String>);

#[integration_event(name = "orders.placed.v1")]
#[derive(Deserialize)]
struct PlacedV1 {
    sku: String,
}

#[integration_event(name = "orders.placed.v2", upcast_from(PlacedV1))]
#[derive(Deserialize)]
struct PlacedV2 {
    sku: String,
    quantity: u32,
}

impl From<PlacedV1> for PlacedV2 {
    fn from(PlacedV1 { sku }: PlacedV1) -> Self {
        PlacedV2 { sku, quantity: 1 }
    }
}

#[integration_event(name = "orders.imported.v1")]
#[derive(Deserialize)]
struct Imported {
    code: u32,
}

#[integration_event(name = "orders.placed.v3", upcast_from(PlacedV2, self::Imported,))]
#[derive(Debug, PartialEq, Deserialize)]
struct Placed {
    lines: Vec<(String, u32)>,
}

impl From<PlacedV2> for Placed {
    fn from(PlacedV2 { sku, quantity }: PlacedV2) -> Self {
        Placed { lines: vec![(sku, quantity)] }
    }
}

impl From<Imported> for Placed {
    fn from(Imported { code }: Imported) -> Self {
        Placed { lines: vec![(code.to_string(), 0)] }
    }
}

#[test]
fn an_event_without_a_name_is_named_by_its_type() {
    assert_eq!(StockReceived::EVENT_TYPE, "StockReceived");
    assert_eq!(Kind::EVENT_TYPE, "Kind");
    assert_eq!(Aws::EVENT_TYPE, "EC2 Instance State-change Notification");
}

#[test]
fn an_enum_and_a_newtype_are_read_as_serde_reads_them() {
    let opened = Kind::decode(&Envelope::new("1", "Kind", r#"{"Opened": {"by": "me"}}"#));
    assert!(matches!(opened, Ok(Kind::Opened { by }) if by == "me"));
    assert!(matches!(Kind::decode(&Envelope::new("1", "Kind", r#""Closed""#)), Ok(Kind::Closed)));
    let aws = Aws::decode(&Envelope::new("1", Aws::EVENT_TYPE, r#"{"a": "b"}"#)).unwrap();
    assert_eq!(aws.0["a"], "b");
}

#[test]
fn an_older_version_is_decoded_as_itself_and_converted_step_by_step() {
    let lines = |event_type: &str, payload: &str| {
        Placed::decode(&Envelope::new("1", event_type, payload)).unwrap().lines
    };
    let one_lamp = vec![("lamp".to_owned(), 1)];
    assert_eq!(lines("orders.placed.v1", r#"{"sku": "lamp"}"#), one_lamp);
    assert_eq!(lines("orders.placed.v2", r#"{"sku": "lamp", "quantity": 1}"#), one_lamp);
    assert_eq!(lines("orders.placed.v3", r#"{"lines": [["lamp", 1]]}"#), one_lamp);
    assert_eq!(lines("orders.imported.v1", r#"{"code": 7}"#), [("7".to_owned(), 0)]);
    let error = Placed::decode(&Envelope::new("1", "orders.placed.v1", "{}")).unwrap_err();
    assert!(error.to_string().contains("missing field `sku`"), "{error}");
}

#[test]
fn the_registry_sees_every_event_type_that_reaches_a_handler() {
    struct Any;

    impl inbox::Handler for Any {
        type Event = Placed;

        fn call<'a>(_: Placed, _: inbox::Delivery<'a>) -> inbox::HandlerFuture<'a> {
            Box::pin(std::future::ready(Ok(())))
        }
    }

    let mut accepted =
        inbox::HandlerRegistration::new::<Any>("events", "any").accepted_event_types();
    assert_eq!(accepted[0], "orders.placed.v3");
    accepted.sort_unstable();
    let all = ["orders.imported.v1", "orders.placed.v1", "orders.placed.v2", "orders.placed.v3"];
    assert_eq!(accepted, all);
}

mod a_cycle {
    //! `build()` refuses it; until then nothing may loop.

    use inbox::integration_event;
    use serde::Deserialize;

    #[integration_event(name = "cycle.a", upcast_from(B))]
    #[derive(Deserialize)]
    pub(super) struct A {}

    #[integration_event(name = "cycle.b", upcast_from(A))]
    #[derive(Deserialize)]
    pub(super) struct B {}

    impl From<B> for A {
        fn from(_: B) -> Self {
            A {}
        }
    }

    impl From<A> for B {
        fn from(_: A) -> Self {
            B {}
        }
    }
}

#[test]
fn two_versions_that_upcast_to_each_other_compile_and_end() {
    let read = |event_type: &str| a_cycle::A::decode(&Envelope::new("1", event_type, "{}")).is_ok();
    assert!(read("cycle.a") && read("cycle.b"));
    assert_eq!(a_cycle::B::UPCASTS[0].event_type(), "cycle.a");
    assert_eq!(a_cycle::B::UPCASTS[0].older()[0].event_type(), "cycle.b");
}
