//! What a failed dispatch has to say of itself.

use std::error::Error;
use std::fmt::Debug;

use inbox::{DispatchError, DispatchErrorKind, Outcome};

use crate::command::Command;

/// Whether a failed delivery counts towards a limit of attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    Counted,
    NotCounted,
}

/// A failed answer, of which kind and lasting effect are asserted together.
pub trait Failed {
    /// Failed with `kind`, and retrying may help.
    fn transient(self, kind: DispatchErrorKind, attempt: Attempt) -> DispatchError;

    /// Failed with `kind`, and retrying cannot help.
    fn permanent(self, kind: DispatchErrorKind) -> DispatchError;
}

impl Failed for Result<Outcome, DispatchError> {
    #[track_caller]
    fn transient(self, kind: DispatchErrorKind, attempt: Attempt) -> DispatchError {
        let error = failed(self, kind);
        assert!(error.is_transient() && !error.is_permanent(), "{error:?}");
        assert_eq!(error.counts_attempt(), attempt == Attempt::Counted, "{error:?}");
        error
    }

    #[track_caller]
    fn permanent(self, kind: DispatchErrorKind) -> DispatchError {
        let error = failed(self, kind);
        assert!(error.is_permanent() && !error.is_transient(), "{error:?}");
        assert!(error.counts_attempt(), "{error:?}");
        error
    }
}

#[track_caller]
fn failed(answer: Result<Outcome, DispatchError>, kind: DispatchErrorKind) -> DispatchError {
    let error = answer.expect_err("the dispatch was to fail");
    assert_eq!(error.kind(), kind, "{error:?}");
    assert_silent_about_the_payload(&error);
    error
}

/// No way of showing the error, nor any link below it, shows the payload.
#[track_caller]
fn assert_silent_about_the_payload(error: &DispatchError) {
    let own = [format!("{error} {error:#} {error:?} {error:#?}")];
    let below = links(error).map(|link| format!("{link} {link:#}"));
    for text in own.into_iter().chain(below) {
        assert!(!text.contains(Command::SECRET), "{text}");
    }
}

/// The links of the source chain, from the error itself down.
pub fn links<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&link| link.source())
}

/// The link of type `E`.
#[track_caller]
pub(crate) fn link<E: Error + Debug + 'static>(error: &DispatchError) -> &E {
    let found = links(error).find_map(|link| link.downcast_ref());
    found.unwrap_or_else(|| panic!("no such error in the source chain of {error:?}"))
}
