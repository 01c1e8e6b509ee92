//! Everything that generated code might lean on is called something else here.

#![allow(dead_code, non_camel_case_types, unused_macros)]

struct Result;
struct Ok;
struct Err;
struct Some;
struct None;
struct Option;
struct Box;
struct String;
struct Vec;
struct Send;
struct Handler;
struct HandlerRegistration;
struct FromDelivery;
struct HandlerOutput;
struct IntegrationEvent;
struct Delivery;
struct bool;
struct str;
struct usize;
struct u64;
struct i32;
mod core {}
mod std {}
mod inbox {}
mod inventory {}
macro_rules! env {
    () => {};
}
macro_rules! panic {
    () => {};
}
macro_rules! assert {
    () => {};
}

#[::inbox::integration_event(name = "pass.shadowed.v1", upcast_from(super::Happened))]
struct Event {}

// By hand, because serde's derive does not stand a shadowed primitive.
impl<'de> ::serde::Deserialize<'de> for Event {
    fn deserialize<D: ::serde::Deserializer<'de>>(
        deserializer: D,
    ) -> ::core::result::Result<Self, D::Error> {
        <() as ::serde::Deserialize>::deserialize(deserializer).map(|()| Event {})
    }
}

impl From<super::Happened> for Event {
    fn from(_: super::Happened) -> Self {
        Event {}
    }
}

#[::inbox::inbox_handler(consumer = "shadows", order = 3, timeout = "3s")]
async fn shadowed(
    _: Event,
    _: ::ui_tests::FakeTx<'_>,
    _: ::inbox::MessageId,
) -> ::core::result::Result<(), ::inbox::HandlerError> {
    ::core::result::Result::Ok(())
}

#[::inbox::inbox_handler(consumer = "shadows")]
async fn shadowed_in_the_body(
    event: super::Happened,
    _: ::ui_tests::FakeTx<'_>,
    _: ::inbox::MessageId,
) -> ::core::result::Result<(), ::inbox::HandlerError> {
    mod ui_tests {}
    struct MessageId;
    fn shadowed_in_the_body(_: super::Happened, _: MessageId) {}
    shadowed_in_the_body(event, MessageId);
    ::core::result::Result::Ok(())
}
