//! What waits to be dispatched, and what of it may be taken now.

use std::collections::{HashSet, VecDeque};

use tokio::time::Instant;

use super::options::DeliveryOrder;
use crate::envelope::Envelope;

/// What may not overtake one another. Under [`DeliveryOrder::Strict`] all messages have the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    Whole,
    Key(String),
}

impl Lane {
    pub(super) fn of(envelope: &Envelope, order: DeliveryOrder) -> Option<Self> {
        match order {
            DeliveryOrder::Any => None,
            DeliveryOrder::ByKey => envelope.ordering_key().map(|key| Self::Key(key.to_owned())),
            DeliveryOrder::Strict => Some(Self::Whole),
        }
    }
}

/// A message that waits.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    pub(super) item: T,
    pub(super) lane: Option<Lane>,
    /// Whether it runs apart from others.
    pub(super) apart: bool,
    /// A message that is held.
    pub(super) not_before: Option<Instant>,
}

/// What a worker takes.
#[derive(Debug)]
pub(super) enum Taken<T> {
    /// Messages to dispatch together.
    Together(Vec<Waiting<T>>),
    /// A message to dispatch apart.
    Apart(Waiting<T>),
    /// Messages to give back to the broker: they are held, or follow one that is, and nobody waits.
    GiveBack(Vec<Waiting<T>>),
}

/// Messages in the order of delivery. Of one lane only the first can be taken, and the next when that one
/// is done.
#[derive(Debug)]
pub(super) struct Queue<T> {
    waiting: VecDeque<Waiting<T>>,
    taken: HashSet<Lane>,
    batch: usize,
}

impl<T> Queue<T> {
    pub(super) fn new(batch: usize) -> Self {
        Self { waiting: VecDeque::new(), taken: HashSet::new(), batch }
    }

    pub(super) fn push(&mut self, waiting: Waiting<T>) {
        self.waiting.push_back(waiting);
    }

    /// A message that was taken comes back, to the front of its lane.
    pub(super) fn put_back(&mut self, waiting: Waiting<T>) {
        self.done(waiting.lane.as_ref());
        self.waiting.push_front(waiting);
    }

    /// A message that was taken is settled.
    pub(super) fn done(&mut self, lane: Option<&Lane>) {
        if let Some(lane) = lane {
            self.taken.remove(lane);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// When the first of those that are held is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.waiting.iter().filter_map(|waiting| waiting.not_before).min()
    }

    /// What can be dispatched now: the first message and those that may run with it.
    pub(super) fn take(&mut self, now: Instant) -> Option<Taken<T>> {
        let mut chosen = Vec::new();
        let mut passed = HashSet::new();
        let mut apart = false;
        for (i, waiting) in self.waiting.iter().enumerate() {
            let lane = waiting.lane.as_ref();
            let free = lane.is_none_or(|lane| !self.taken.contains(lane) && !passed.contains(lane));
            let due = waiting.not_before.is_none_or(|at| at <= now);
            let joins = chosen.is_empty() || !waiting.apart;
            passed.extend(lane);
            if !(free && due && joins) {
                continue;
            }
            chosen.push(i);
            apart = waiting.apart;
            if apart || chosen.len() == self.batch {
                break;
            }
        }
        let mut taken = self.remove(&chosen);
        self.taken.extend(taken.iter().filter_map(|waiting| waiting.lane.clone()));
        match taken.len() {
            0 => None,
            1 if apart => taken.pop().map(Taken::Apart),
            _ => Some(Taken::Together(taken)),
        }
    }

    /// All that is held, and what may not overtake it: for when the subscription ends.
    pub(super) fn take_held(&mut self) -> Option<Taken<T>> {
        let mut held = HashSet::new();
        let mut chosen = Vec::new();
        for (i, waiting) in self.waiting.iter().enumerate() {
            let lane = waiting.lane.as_ref();
            if waiting.not_before.is_some() || lane.is_some_and(|lane| held.contains(lane)) {
                held.extend(lane);
                chosen.push(i);
            }
        }
        let taken = self.remove(&chosen);
        (!taken.is_empty()).then_some(Taken::GiveBack(taken))
    }

    /// `places` are ascending.
    fn remove(&mut self, places: &[usize]) -> Vec<Waiting<T>> {
        if places.iter().copied().eq(0..places.len()) {
            return self.waiting.drain(..places.len()).collect();
        }
        let mut removed: Vec<_> =
            places.iter().rev().filter_map(|&place| self.waiting.remove(place)).collect();
        removed.reverse();
        removed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn waiting(item: u32, key: &str) -> Waiting<u32> {
        let lane = (!key.is_empty()).then(|| Lane::Key(key.to_owned()));
        Waiting { item, lane, apart: false, not_before: None }
    }

    fn queue(batch: usize, messages: &[(u32, &str)]) -> Queue<u32> {
        let mut queue = Queue::new(batch);
        messages.iter().for_each(|(item, key)| queue.push(waiting(*item, key)));
        queue
    }

    fn items(taken: Option<Taken<u32>>) -> Vec<u32> {
        let taken = match taken {
            None => Vec::new(),
            Some(Taken::Apart(one)) => vec![one],
            Some(Taken::Together(all) | Taken::GiveBack(all)) => all,
        };
        taken.into_iter().map(|waiting| waiting.item).collect()
    }

    #[test]
    fn messages_without_keys_are_taken_in_their_order_up_to_a_batch() {
        let mut queue = queue(2, &[(1, ""), (2, ""), (3, "")]);
        let now = Instant::now();
        assert_eq!(items(queue.take(now)), [1, 2]);
        assert_eq!(items(queue.take(now)), [3]);
        assert!(queue.take(now).is_none());
    }

    #[test]
    fn of_one_key_only_one_message_is_out_at_a_time() {
        let mut queue = queue(10, &[(1, "a"), (2, "a"), (3, "b"), (4, ""), (5, "a")]);
        let now = Instant::now();
        assert_eq!(items(queue.take(now)), [1, 3, 4]);
        assert!(queue.take(now).is_none());
        queue.done(Some(&Lane::Key("a".into())));
        assert_eq!(items(queue.take(now)), [2]);
    }

    #[test]
    fn what_is_held_is_not_overtaken_under_its_key() {
        let mut queue = queue(10, &[(1, "a"), (2, "a"), (3, "b")]);
        let now = Instant::now();
        let Some(Taken::Together(mut taken)) = queue.take(now) else { panic!() };
        let mut first = taken.remove(0);
        first.not_before = Some(now + Duration::from_secs(1));
        queue.put_back(first);
        assert!(queue.take(now).is_none(), "2 would overtake 1");
        assert_eq!(queue.next_due(), Some(now + Duration::from_secs(1)));
        assert_eq!(items(queue.take(now + Duration::from_secs(1))), [1]);
    }

    #[test]
    fn who_runs_apart_is_taken_alone_and_not_overtaken_under_its_key() {
        let mut queue = queue(10, &[(1, "")]);
        queue.push(Waiting { apart: true, ..waiting(2, "a") });
        queue.push(waiting(3, "a"));
        queue.push(waiting(4, ""));
        let now = Instant::now();
        assert_eq!(items(queue.take(now)), [1, 4]);
        assert!(matches!(queue.take(now), Some(Taken::Apart(Waiting { item: 2, .. }))));
        assert!(queue.take(now).is_none());
    }

    #[test]
    fn at_the_end_what_is_held_is_given_back_with_what_follows_it() {
        let mut queue = queue(10, &[]);
        let later = Some(Instant::now() + Duration::from_secs(9));
        queue.push(Waiting { not_before: later, ..waiting(1, "a") });
        queue.push(waiting(2, "b"));
        queue.push(waiting(3, "a"));
        queue.push(waiting(4, ""));
        assert_eq!(items(queue.take_held()), [1, 3]);
        assert!(queue.take_held().is_none());
        assert_eq!(items(queue.take(Instant::now())), [2, 4]);
    }

    #[test]
    fn in_strict_order_one_message_is_out_at_a_time() {
        let mut queue = Queue::new(10);
        for item in [1, 2] {
            queue.push(Waiting { lane: Some(Lane::Whole), ..waiting(item, "") });
        }
        let now = Instant::now();
        assert_eq!(items(queue.take(now)), [1]);
        assert!(queue.take(now).is_none());
        queue.done(Some(&Lane::Whole));
        assert_eq!(items(queue.take(now)), [2]);
    }
}
