//! Waiting a little longer each time, with jitter so that competitors do not meet again.

use std::time::Duration;

/// Exponential backoff: the n-th wait is random between half of and the whole of `first × 2ⁿ`,
/// and never longer than `most`.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    most: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, most: Duration) -> Self {
        Self { next: first, most }
    }

    /// The next wait.
    pub(crate) fn next(&mut self) -> Duration {
        let wait = self.next.mul_f64(0.5 + fastrand::f64() / 2.0);
        self.next = (self.next * 2).min(self.most);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_the_most_and_are_spread() {
        let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(40));
        for whole in [10, 20, 40, 40] {
            let wait = backoff.next();
            let whole = Duration::from_millis(whole);
            assert!(wait >= whole / 2 && wait <= whole, "{wait:?} of {whole:?}");
        }
    }
}
