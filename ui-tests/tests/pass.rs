//! Handlers and events that are unusual and right. They only have to compile, without a warning,
//! and to be registered as they are written.

#![deny(warnings)]

#[path = "../pass/mod.rs"]
mod pass;

use std::collections::BTreeMap;
use std::future::Future;
use std::task::{Context, Poll, Waker};

#[test]
fn every_handler_is_registered_as_it_is_written() {
    let linked = inbox::linked_handlers();
    let mut handlers = BTreeMap::<_, Vec<_>>::new();
    for handler in &linked {
        handlers.entry(handler.consumer()).or_default().push(handler.name());
    }
    let expected = [
        ("a-const.v1", vec!["named_by_an_associated_const", "named_by_a_const"]),
        (
            "arguments",
            vec!["all_of_them", "by_reference", "in_another_order", "named_lifetimes", "writes"],
        ),
        (
            "attributes",
            vec![
                "configured",
                "deprecated",
                "instrumented",
                "instrumented_above",
                "with_inner_attributes",
            ],
        ),
        ("batches", vec!["by_a_macro", "plain", "with_a_lifetime", "with_messages"]),
        ("keys", vec!["early", "usual", "late"]),
        ("macro_rules", vec!["first", "second", "with_body"]),
        ("names", vec!["type", "r"]),
        ("outputs", vec!["boxed", "string", "text", "alias", "on_one_line"]),
        ("places", vec!["nested", "local", "local"]),
        ("shadows", vec!["shadowed", "shadowed_in_the_body"]),
        ("two/a", vec!["twice"]),
        ("two/b", vec!["twice"]),
    ];
    let sorted = |mut names: Vec<&'static str>| {
        names.sort_unstable();
        names
    };
    let handlers: BTreeMap<_, _> =
        handlers.into_iter().map(|(consumer, names)| (consumer, sorted(names))).collect();
    let expected: BTreeMap<_, _> =
        expected.into_iter().map(|(consumer, names)| (consumer, sorted(names))).collect();
    assert_eq!(handlers, expected);
}

#[test]
fn a_registration_holds_what_the_attribute_says_and_where_it_stands() {
    let linked = inbox::linked_handlers();
    let early = linked.iter().find(|handler| handler.name() == "early").unwrap();
    assert_eq!(early.order(), -5);
    assert_eq!(early.timeout(), std::time::Duration::from_millis(1500));
    assert_eq!(early.crate_name(), "ui-tests");
    assert_eq!(early.event_type(), "pass.happened.v1");
    let file = include_str!("../pass/keys.rs");
    let line = file.lines().position(|line| line.contains("fn early")).unwrap() + 1;
    let place = early.location();
    assert!(place.file().ends_with("pass/keys.rs"), "{place}");
    assert_eq!(place.line() as usize, line);
}

#[test]
fn a_handler_stays_a_function_that_can_be_called() {
    let mut connection = ui_tests::FakeConnection::default();
    let tx = ui_tests::FakeTx::new(&mut connection);
    let mut running = Box::pin(pass::arguments::writes(&pass::Happened { id: 7 }, tx));
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(running.as_mut().poll(&mut context), Poll::Ready(Ok(()))));
    drop(running);
    assert_eq!(connection.statements, ["insert 7"]);
}
