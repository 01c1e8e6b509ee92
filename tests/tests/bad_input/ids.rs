//! Message ids and names.

use conformance::{block_on, cases};
use fixture_memory_store::{MemoryStore, MemoryTx};
use inbox::{
    Argument, Delivery, FromDelivery, Handler, HandlerFuture, HandlerRegistration, Inbox, MessageId,
};
use proptest::prelude::*;
use uuid::Uuid;

use crate::input::text;
use crate::payloads::Order;
use crate::silence::assert_silent;

struct Nothing;

impl Handler for Nothing {
    type Event = Order;
    const ARGUMENTS: &'static [Argument] = &[<MemoryTx<'_> as FromDelivery<'_>>::ARGUMENT];

    fn call<'a>(_: Order, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async move { delivery.extract::<MemoryTx<'_>>().map(drop) })
    }
}

/// The rule for texts of an envelope, in other words than the library's.
fn is_good_text(text: &str) -> bool {
    let blank = text.chars().all(char::is_whitespace);
    !blank && text.len() <= 1024 && !text.contains(char::is_control)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(400, 5_000)))]

    #[test]
    fn an_id_is_refused_with_its_reason_or_becomes_the_same_16_bytes_every_time(
        id in prop_oneof![text(), any::<String>(), "[0-9a-fA-F-]{30,40}", "[ \\t]{0,3}"],
        source in proptest::option::of(prop_oneof![text(), any::<String>()]),
    ) {
        let parsed = MessageId::parse(&id, source.as_deref());
        prop_assert_eq!(&parsed, &MessageId::parse(&id, source.as_deref()));
        let is_uuid = id.len() == 36 && Uuid::try_parse(&id).is_ok();
        let is_good = is_uuid || is_good_text(&id) && source.as_deref().is_some_and(is_good_text);
        match parsed {
            Ok(parsed) => prop_assert!(is_good && !parsed.as_uuid().is_nil()),
            Err(refused) => {
                prop_assert!(!is_good, "{}", refused);
                assert_silent(&refused);
            }
        }
    }

    #[test]
    fn two_messages_never_share_an_id(
        a in ("[a-c]{1,4}", "[a-c]{1,4}"),
        b in ("[a-c]{1,4}", "[a-c]{1,4}"),
    ) {
        let id = |(source, id): &(String, String)| MessageId::parse(id, Some(source)).unwrap();
        prop_assert_eq!(a == b, id(&a) == id(&b));
    }

    #[test]
    fn a_uuid_is_itself_in_either_case(bytes in any::<[u8; 16]>()) {
        let uuid = Uuid::from_bytes(bytes);
        prop_assume!(!uuid.is_nil());
        let text = uuid.hyphenated().to_string();
        prop_assert_eq!(MessageId::parse(&text, None).unwrap().as_uuid(), uuid);
        prop_assert_eq!(MessageId::parse(&text.to_uppercase(), None).unwrap().as_uuid(), uuid);
    }

    #[test]
    fn a_consumers_name_is_refused_at_build_or_keeps_the_rule(
        name in prop_oneof![any::<String>(), "[A-Za-z0-9._:/-]{0,210}", "[a-z]{1,9} ?"],
    ) {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._:/-".contains(c);
        let is_good = (1..=200).contains(&name.chars().count()) && name.chars().all(allowed);
        let name: &'static str = name.leak();
        let builder = Inbox::builder().store(MemoryStore::default());
        let handler = HandlerRegistration::new::<Nothing>(name, "nothing");
        let built = block_on(builder.register(handler).build());
        prop_assert_eq!(built.is_ok(), is_good, "{:?}", built.err());
    }
}
