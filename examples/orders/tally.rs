//! What became of the deliveries, counted.

use inbox::{DispatchError, DispatchErrorKind as Kind, Outcome};
use serde::Serialize;

/// Every delivery is in exactly one of the last four.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub(crate) struct Tally {
    pub(crate) delivered: u64,
    /// Its handler ran, and what it wrote is durable.
    pub(crate) processed: u64,
    /// A duplicate: its handler was not started.
    pub(crate) skipped: u64,
    /// Nothing of it was written, and it is not marked processed: another delivery tries again.
    pub(crate) failed: u64,
    /// Refused before any handler.
    pub(crate) rejected: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, answer: &Result<Outcome, DispatchError>) {
        self.delivered += 1;
        *match answer {
            Ok(Outcome::Processed) => &mut self.processed,
            Ok(Outcome::SkippedDuplicate) => &mut self.skipped,
            Ok(Outcome::Ignored) => &mut self.rejected,
            Err(error) if is_refusal(error.kind()) => &mut self.rejected,
            Err(_) => &mut self.failed,
        } += 1;
    }

    /// Whether every delivery was processed, now or before.
    pub(crate) fn all_well(&self) -> bool {
        self.failed == 0 && self.rejected == 0
    }
}

/// The kinds of error that come before any handler.
fn is_refusal(kind: Kind) -> bool {
    matches!(kind, Kind::InvalidEnvelope | Kind::IdReused | Kind::Unhandled | Kind::Decode)
}
