//! [`Settlement`]: what a transport does with a message, as a pure function of what became of it.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::error::{DispatchError, DispatchErrorKind};
use crate::outcome::Outcome;

/// What a transport does with a delivered message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// Acknowledge it: the outcome is durable.
    Ack,
    /// Give it back to the broker, which delivers it again after this time.
    Retry(Duration),
    /// Keep it unsettled, tell the broker that it is being worked on, and dispatch it again here after
    /// this time.
    Hold(Duration),
    /// Put it away, durably, and then acknowledge it.
    DeadLetter(DeadLetterReason),
}

/// Why a message was put away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadLetterReason {
    /// Its answer was permanent: retrying cannot help.
    Permanent,
    /// It failed as often as the [`RetryPolicy`] allows.
    AttemptsExhausted,
    /// It was begun as often as the [`RetryPolicy`] allows and never answered: it takes the process
    /// along, or never ends.
    NeverAnswered,
}

impl DeadLetterReason {
    /// The reason as one word, as it stands in headers and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Permanent => "permanent",
            Self::AttemptsExhausted => "attempts-exhausted",
            Self::NeverAnswered => "never-answered",
        }
    }

    /// The reason of that word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Permanent, Self::AttemptsExhausted, Self::NeverAnswered]
            .into_iter()
            .find(|reason| reason.as_str() == word)
    }
}

impl fmt::Display for DeadLetterReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How often a message is tried, and how long it waits in between.
///
/// The n-th wait is `first × 2ⁿ⁻¹`, at most `most`, and shortened by up to a half, so that messages that
/// failed together do not come back together. The part by which it is shortened is drawn from the
/// message's id: the same message and attempt wait equally long everywhere.
///
/// ```
/// use std::time::Duration;
/// use inbox::RetryPolicy;
///
/// let policy = RetryPolicy::default().attempts(5).waits(Duration::from_secs(2), Duration::from_secs(60));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    attempts: Option<NonZeroU32>,
    first: Duration,
    most: Duration,
}

/// How often a message is tried unless the application says otherwise.
pub const DEFAULT_ATTEMPTS: u32 = 10;

/// How long a message that had no chance is held: its twin was in flight, or the database was busy.
const HOLD: Duration = Duration::from_millis(500);

/// No wait is longer: brokers keep times in less than a `Duration` can say.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

impl Default for RetryPolicy {
    /// [`DEFAULT_ATTEMPTS`], with waits from one second to five minutes.
    fn default() -> Self {
        Self {
            attempts: NonZeroU32::new(DEFAULT_ATTEMPTS),
            first: Duration::from_secs(1),
            most: Duration::from_secs(5 * 60),
        }
    }
}

/// One try of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Try {
    /// How many attempts were counted, this one among them.
    pub attempts: u32,
    /// Whether nothing may overtake the message, so that it has to wait here.
    pub ordered: bool,
    /// What spreads the waits: any number that is the message's own.
    pub seed: u64,
}

impl RetryPolicy {
    /// At most so many attempts; then the message is put away. Zero is taken as one.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(NonZeroU32::new(attempts).unwrap_or(NonZeroU32::MIN));
        self
    }

    /// Attempts without end. A message that cannot succeed then comes back for ever, at the longest
    /// wait; permanent answers are still put away at once.
    pub fn attempts_without_end(mut self) -> Self {
        self.attempts = None;
        self
    }

    /// The first wait and the longest. Waits longer than a day are taken as a day.
    pub fn waits(mut self, first: Duration, most: Duration) -> Self {
        self.most = most.min(LONGEST_WAIT);
        self.first = first.min(self.most);
        self
    }

    /// The most attempts, where there is a limit.
    pub fn limit(&self) -> Option<u32> {
        self.attempts.map(NonZeroU32::get)
    }

    /// What a transport does with a message that was answered so.
    pub fn settle(&self, answer: &Result<Outcome, DispatchError>, tried: Try) -> Settlement {
        let error = match answer {
            Ok(_) => return Settlement::Ack,
            Err(error) => error,
        };
        if error.kind() == DispatchErrorKind::Stopping {
            return Settlement::Retry(Duration::ZERO); // for another process, or for this one's successor
        }
        if error.is_permanent() {
            return Settlement::DeadLetter(DeadLetterReason::Permanent);
        }
        if !error.counts_attempt() {
            return Settlement::Hold(spread(HOLD, tried.seed));
        }
        if self.limit().is_some_and(|limit| tried.attempts >= limit) {
            return Settlement::DeadLetter(DeadLetterReason::AttemptsExhausted);
        }
        let wait = self.wait(tried);
        if tried.ordered { Settlement::Hold(wait) } else { Settlement::Retry(wait) }
    }

    fn wait(&self, tried: Try) -> Duration {
        let doublings = tried.attempts.saturating_sub(1).min(31);
        let whole = self.first.saturating_mul(1 << doublings).min(self.most);
        spread(whole, tried.seed ^ u64::from(tried.attempts))
    }
}

/// Shortened by up to a half.
fn spread(whole: Duration, seed: u64) -> Duration {
    let part = fastrand::Rng::with_seed(seed).f64();
    whole.mul_f64(1.0 - part / 2.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::InvalidEnvelope;
    use crate::failure::Failure;
    use crate::store::{Fault, StoreError};

    fn answer_of(failure: Failure) -> Result<Outcome, DispatchError> {
        Err(DispatchError::new(failure, None, "orders.order-placed.v1"))
    }

    fn permanent() -> Result<Outcome, DispatchError> {
        answer_of(Failure::InvalidEnvelope(InvalidEnvelope::new("message id", "is missing")))
    }

    fn failed() -> Result<Outcome, DispatchError> {
        answer_of(Failure::Store(StoreError::new(Fault::Other, "the connection was lost")))
    }

    fn had_no_chance() -> impl Strategy<Value = Result<Outcome, DispatchError>> {
        let busy = || Failure::Store(StoreError::new(Fault::Busy, "no connection"));
        let in_flight = || Failure::InFlight { waited: Duration::ZERO };
        prop_oneof![
            Just(()).prop_map(move |()| answer_of(busy())),
            Just(()).prop_map(move |()| answer_of(in_flight()))
        ]
    }

    fn policies() -> impl Strategy<Value = RetryPolicy> {
        (any::<Option<u32>>(), any::<Duration>(), any::<Duration>()).prop_map(
            |(limit, first, most)| {
                let policy = RetryPolicy::default().waits(first, most);
                limit.map_or(policy.attempts_without_end(), |limit| policy.attempts(limit))
            },
        )
    }

    fn tries() -> impl Strategy<Value = Try> {
        (any::<u32>(), any::<bool>(), any::<u64>()).prop_map(|(attempts, ordered, seed)| Try {
            attempts,
            ordered,
            seed,
        })
    }

    proptest! {
        #[test]
        fn every_ok_is_acknowledged_and_nothing_else(policy in policies(), tried in tries()) {
            for outcome in [Outcome::Processed, Outcome::SkippedDuplicate, Outcome::Ignored] {
                prop_assert_eq!(policy.settle(&Ok(outcome), tried), Settlement::Ack);
            }
            for answer in [permanent(), failed(), answer_of(Failure::Stopping)] {
                prop_assert_ne!(policy.settle(&answer, tried), Settlement::Ack);
            }
        }

        #[test]
        fn a_permanent_answer_is_put_away_at_once(policy in policies(), tried in tries()) {
            let expected = Settlement::DeadLetter(DeadLetterReason::Permanent);
            prop_assert_eq!(policy.settle(&permanent(), tried), expected);
        }

        #[test]
        fn who_had_no_chance_is_held_and_never_put_away(
            policy in policies(), tried in tries(), answer in had_no_chance(),
        ) {
            let settlement = policy.settle(&answer, tried);
            let Settlement::Hold(wait) = settlement else { panic!("{settlement:?}") };
            prop_assert!(wait >= HOLD / 2 && wait <= HOLD);
        }

        #[test]
        fn who_failed_is_put_away_exactly_at_the_limit(policy in policies(), tried in tries()) {
            let put_away = policy.limit().is_some_and(|limit| tried.attempts >= limit);
            let settlement = policy.settle(&failed(), tried);
            let exhausted = Settlement::DeadLetter(DeadLetterReason::AttemptsExhausted);
            prop_assert_eq!(settlement == exhausted, put_away);
            prop_assert_eq!(matches!(settlement, Settlement::Hold(_)), !put_away && tried.ordered);
            prop_assert_eq!(matches!(settlement, Settlement::Retry(_)), !put_away && !tried.ordered);
        }

        #[test]
        fn waits_double_up_to_the_most_and_are_shortened_by_half_at_most(
            first in 1..10_000_u64, most in 1..10_000_000_u64, attempts in 1..100_u32, seed in any::<u64>(),
        ) {
            let (first, most) = (Duration::from_millis(first), Duration::from_millis(most));
            let policy = RetryPolicy::default().attempts_without_end().waits(first, most);
            let settlement = policy.settle(&failed(), Try { attempts, ordered: false, seed });
            let Settlement::Retry(wait) = settlement else { panic!("{settlement:?}") };
            let whole = first.min(most).saturating_mul(2_u32.saturating_pow(attempts - 1)).min(most);
            prop_assert!(wait >= whole / 2 && wait <= whole, "{:?} of {:?}", wait, whole);
        }
    }

    /// Numbers that are drawn are hardly ever equal.
    #[test]
    fn the_attempt_that_the_limit_allows_is_the_last() {
        let policy = RetryPolicy::default().attempts(3);
        let settle = |attempts| policy.settle(&failed(), Try { attempts, ordered: false, seed: 0 });
        assert!(matches!(settle(2), Settlement::Retry(_)));
        assert_eq!(settle(3), Settlement::DeadLetter(DeadLetterReason::AttemptsExhausted));
    }

    #[test]
    fn who_comes_while_the_inbox_stops_is_given_back_at_once() {
        let tried = Try { attempts: 99, ordered: true, seed: 0 };
        let settlement = RetryPolicy::default().settle(&answer_of(Failure::Stopping), tried);
        assert_eq!(settlement, Settlement::Retry(Duration::ZERO));
    }

    #[test]
    fn messages_that_failed_together_do_not_come_back_together() {
        let policy = RetryPolicy::default();
        let settle = |seed| policy.settle(&failed(), Try { attempts: 3, ordered: false, seed });
        assert_ne!(settle(1), settle(2));
        assert_eq!(settle(1), settle(1));
    }
}
