//! The rules for the two names a user chooses: consumers and event types.
//!
//! Both are data, not code: they stand in the deduplication key or on the wire, so a bad one is
//! refused before the first message. The functions are `const` so that generated code can check a
//! name while the user's crate compiles.

/// The longest consumer name, in characters.
pub(crate) const MAX_CONSUMER_CHARS: usize = 200;

/// The longest event type, in characters.
pub(crate) const MAX_EVENT_TYPE_CHARS: usize = 255;

/// What is wrong with `name` as a consumer, or `None`.
pub const fn consumer_problem(name: &str) -> Option<&'static str> {
    let bytes = name.as_bytes();
    if bytes.is_empty() {
        return Some("it is empty");
    }
    if bytes.len() > MAX_CONSUMER_CHARS {
        return Some("it is longer than 200 characters");
    }
    let mut i = 0;
    while i < bytes.len() {
        let allowed = bytes[i].is_ascii_alphanumeric()
            || matches!(bytes[i], b'.' | b'_' | b':' | b'/' | b'-');
        if !allowed {
            return Some("it has a character other than A–Z a–z 0–9 . _ : / -");
        }
        i += 1;
    }
    None
}

/// What is wrong with `name` as an event type, or `None`.
pub const fn event_type_problem(name: &str) -> Option<&'static str> {
    let bytes = name.as_bytes();
    let (mut i, mut chars, mut blank) = (0, 0, true);
    while i < bytes.len() {
        let is_continuation = bytes[i] & 0b1100_0000 == 0b1000_0000;
        // C1 controls (U+0080–U+009F) are two bytes in UTF-8: 0xC2 0x80–0x9F.
        let is_c1 = bytes[i] == 0xC2 && i + 1 < bytes.len() && bytes[i + 1] < 0xA0;
        if bytes[i].is_ascii_control() || is_c1 {
            return Some("it has a control character");
        }
        if !is_continuation {
            chars += 1;
        }
        if bytes[i] != b' ' {
            blank = false;
        }
        i += 1;
    }
    if blank {
        return Some("it is blank");
    }
    if chars > MAX_EVENT_TYPE_CHARS {
        return Some("it is longer than 255 characters");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consumer_is_1_to_200_characters_of_a_small_alphabet() {
        for good in ["a", "orders-service", "Team.Orders_v2:eu/west-1", &"x".repeat(200)] {
            assert_eq!(consumer_problem(good), None, "{good}");
        }
        for bad in ["", " ", "a b", "ordérs", "a\n", "a\0", &"x".repeat(201)] {
            assert!(consumer_problem(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn an_event_type_is_1_to_255_characters_without_control_characters() {
        let widest = "é".repeat(255);
        for good in ["a", "orders.order-placed.v1", "EC2 Instance State-change", &widest] {
            assert_eq!(event_type_problem(good), None, "{good}");
        }
        for bad in ["", "  ", "a\tb", "a\u{85}b", "\u{7f}", &"é".repeat(256)] {
            assert!(event_type_problem(bad).is_some(), "{bad:?}");
        }
    }
}
