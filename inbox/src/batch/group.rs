//! Which messages share a transaction, and which part of it.

use std::collections::VecDeque;

/// How many messages share a mark, where one costs a round trip.
const PART: usize = 16;

/// How many marks one transaction may have where each takes a transaction id: PostgreSQL keeps up to 64
/// of a backend's at hand, and more slow everyone down.
const MARKS: usize = 48;

/// Messages that are to share one transaction, in the order of delivery.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) members: Vec<usize>,
    /// How many of the first run without a mark: they are taken to end well. What follows them is run
    /// in parts, each after a mark.
    pub(super) trusted: usize,
    /// How often a shared run of these messages has failed.
    pub(super) failures: u32,
}

impl Group {
    /// Of messages that are all taken to end well.
    pub(super) fn new(members: &[usize]) -> Self {
        Self { members: members.to_vec(), trusted: members.len(), failures: 0 }
    }

    /// The same after a failure that told something: `trusted` ended well, `left` are those that are
    /// still to be run with them. Told twice, no one is trusted any more.
    pub(super) fn after_failure(&self, mut trusted: Vec<usize>, left: Vec<usize>) -> Self {
        let failures = self.failures + 1;
        let count = if failures < 2 { trusted.len() } else { 0 };
        trusted.extend(left);
        Self { members: trusted, trusted: count, failures }
    }

    /// Of messages of which nothing is known but that they failed together: each half by itself.
    pub(super) fn halves(members: &[usize]) -> Vec<Self> {
        let (first, second) = members.split_at(members.len() / 2);
        [first, second].into_iter().filter(|half| !half.is_empty()).map(Self::new).collect()
    }
}

/// What follows the trusted ones, in the parts in which it is run.
#[derive(Debug)]
pub(super) struct Parts(VecDeque<Vec<usize>>);

impl Parts {
    /// Parts of several messages, for a mark that costs a round trip.
    pub(super) fn new(members: &[usize]) -> Self {
        let size = PART.max(members.len().div_ceil(MARKS));
        Self(members.chunks(size).map(<[usize]>::to_vec).collect())
    }

    /// A part for each call of the handlers, for a mark that costs nothing.
    pub(super) fn of_calls(calls: Vec<Vec<usize>>) -> Self {
        Self(calls.into())
    }

    pub(super) fn next(&mut self) -> Option<Vec<usize>> {
        self.0.pop_front()
    }

    /// Runs these next, as a part of their own.
    pub(super) fn put_back(&mut self, part: &[usize]) {
        if !part.is_empty() {
            self.0.push_front(part.to_vec());
        }
    }

    /// Runs these next, in halves. One alone is not run again with others.
    pub(super) fn put_back_in_halves(&mut self, part: &[usize]) {
        if part.len() > 1 {
            let (first, second) = part.split_at(part.len() / 2);
            self.put_back(second);
            self.put_back(first);
        }
    }

    pub(super) fn into_members(self) -> Vec<usize> {
        self.0.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_failures_end_the_trust() {
        let group = Group::new(&[0, 1, 2, 3]);
        let once = group.after_failure(vec![0, 1], vec![3]);
        assert_eq!((once.members.as_slice(), once.trusted), (&[0, 1, 3][..], 2));
        let twice = once.after_failure(vec![0], vec![3]);
        assert_eq!((twice.members.as_slice(), twice.trusted), (&[0, 3][..], 0));
    }

    #[test]
    fn a_large_group_has_few_marks() {
        let members: Vec<usize> = (0..10_000).collect();
        assert!(Parts::new(&members).0.len() <= MARKS);
        assert_eq!(Parts::new(&members).into_members(), members);
        assert_eq!(Parts::new(&members[..33]).0.len(), 3);
    }

    #[test]
    fn halves_are_run_in_order_before_what_follows() {
        let mut parts = Parts::new(&[7]);
        parts.put_back_in_halves(&[1]);
        parts.put_back_in_halves(&[2, 3, 4]);
        assert_eq!(parts.next(), Some(vec![2]));
        assert_eq!(parts.into_members(), [3, 4, 7]);
    }
}
