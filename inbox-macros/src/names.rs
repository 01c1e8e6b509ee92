//! The rules for names that are written as literals: the same as `inbox::names` has for names that
//! come from elsewhere, but able to show the character that is wrong.

use std::fmt::Write as _;

/// What is wrong with `name` as a consumer, and what to write.
pub(crate) fn consumer_problem(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return Some(
            "`consumer` is blank, and it is half of the deduplication key: name the subscriber, \
             such as `orders-service`"
                .to_owned(),
        );
    }
    let allowed = |c: &char| c.is_ascii_alphanumeric() || "._:/-".contains(*c);
    if let Some(odd) = name.chars().find(|c| !allowed(c)) {
        let mut problem =
            format!("{odd:?} cannot stand in a consumer: use A–Z a–z 0–9 . _ : / and -");
        let proposal: String =
            name.trim().chars().map(|c| if allowed(&c) { c } else { '-' }).collect();
        if name.is_ascii() {
            // Writing to a String cannot fail.
            let _ = write!(problem, ", for example `{proposal}`");
        }
        return Some(problem);
    }
    let length = name.chars().count();
    (length > 200).then(|| format!("a consumer has at most 200 characters, and this has {length}"))
}

/// What is wrong with `name` as an event type, and what to write.
pub(crate) fn event_type_problem(name: &str) -> Option<String> {
    if let Some(control) = name.chars().find(|c| c.is_control()) {
        return Some(format!("an event type has no control characters, and this has {control:?}"));
    }
    if name.chars().all(|c| c == ' ') {
        return Some(
            "`name` is blank: write the event's name on the wire, such as `orders.order-placed.v1`"
                .to_owned(),
        );
    }
    let length = name.chars().count();
    (length > 255)
        .then(|| format!("an event type has at most 255 characters, and this has {length}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_pass_are_those_of_the_contract() {
        for good in ["a", "Team.Orders_v2:eu/west-1", &"x".repeat(200)] {
            assert_eq!(consumer_problem(good), None, "{good}");
        }
        for bad in ["", " ", "a b", "ordérs", "a\n", "a\0", &"x".repeat(201)] {
            assert!(consumer_problem(bad).is_some(), "{bad:?}");
        }
        for good in ["a", "EC2 Instance State-change", &"é".repeat(255)] {
            assert_eq!(event_type_problem(good), None, "{good}");
        }
        for bad in ["", "  ", "a\tb", "a\u{85}b", "\u{7f}", &"é".repeat(256)] {
            assert!(event_type_problem(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn a_bad_consumer_is_shown_what_to_write() {
        let problem = consumer_problem("orders service").unwrap();
        assert!(problem.contains("`orders-service`"), "{problem}");
    }
}
