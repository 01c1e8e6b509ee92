//! What must not be shown.

use std::error::Error;
use std::fmt::Debug;

/// Stands in every text that is made up, as a value or as a name.
pub(crate) const SECRET: &str = "QzXw";

/// Stands in every number that is made up. Inputs are shorter, so that it is no line, column or size.
pub(crate) const NUMBER: &str = "41117";

/// Neither the error nor any link below it shows a made-up text or number.
#[track_caller]
pub(crate) fn assert_silent(error: &(dyn Error + 'static)) {
    for link in conformance::links(error) {
        assert_hidden(&format!("{link} {link:#} {link:?} {link:#?}"));
    }
}

/// The value does not show it when it is logged.
#[track_caller]
pub(crate) fn assert_silent_debug(value: &impl Debug) {
    assert_hidden(&format!("{value:?} {value:#?}"));
}

#[track_caller]
pub(crate) fn assert_hidden(text: &str) {
    assert!(!text.contains(SECRET) && !text.contains(NUMBER), "{text}");
}
