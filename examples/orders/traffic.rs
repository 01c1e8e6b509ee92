//! The demonstration's traffic: what a shop and a warehouse publish, and how a broker delivers it.
//! The same on every run.

use fastrand::Rng;
use inbox::Envelope;
use serde_json::json;

use crate::fact::Fact;

/// How many distinct events there are.
pub(crate) const EVENTS: usize = 2000;
/// Delivered a second time while the first is in flight.
pub(crate) const TWINS: usize = EVENTS / 10;
/// Delivered a second time later on.
pub(crate) const REPEATS: usize = EVENTS / 10;
/// Delivered a second time because the handler failed.
pub(crate) const OUTAGES: usize = EVENTS / 20;
/// A quarter of the events.
pub(crate) const REDELIVERIES: usize = TWINS + REPEATS + OUTAGES;

const SKUS: [&str; 8] =
    ["assam", "ceylon", "darjeeling", "earl-grey", "gunpowder", "mint", "rooibos", "sencha"];

/// All that will be delivered.
pub(crate) struct Traffic {
    /// The distinct events, in the order in which they happened.
    pub(crate) facts: Vec<Fact>,
    /// The deliveries of each sku, in order: the lanes are independent of each other, as the
    /// partitions of a topic are.
    pub(crate) lanes: Vec<Vec<Delivery>>,
    /// The orders whose first reservation is to fail.
    pub(crate) outages: Vec<String>,
}

/// One delivery.
#[derive(Clone)]
pub(crate) struct Delivery {
    pub(crate) fact: Fact,
    pub(crate) envelope: Envelope,
    pub(crate) how: How,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum How {
    /// For the first time.
    First,
    /// Twice at once.
    Twins,
    /// Again, after it was processed.
    Again,
}

impl Traffic {
    pub(crate) fn generate() -> Self {
        let mut rng = Rng::with_seed(2000);
        let mut shop = Shop::default();
        let events: Vec<(usize, Fact)> = (0..EVENTS).map(|_| shop.next(&mut rng)).collect();

        let (mut orders, mut others): (Vec<usize>, Vec<usize>) =
            (0..EVENTS).partition(|&at| matches!(events[at].1, Fact::Placed { .. }));
        rng.shuffle(&mut orders);
        let outages = orders.drain(..OUTAGES).filter_map(|at| events[at].1.order_id()).collect();
        others.append(&mut orders);
        rng.shuffle(&mut others);
        let (twins, repeats) = others[..TWINS + REPEATS].split_at(TWINS);

        let facts = events.iter().map(|(_, fact)| fact.clone()).collect();
        Self { facts, lanes: lanes(&events, twins, repeats, &mut rng), outages }
    }
}

fn lanes(
    events: &[(usize, Fact)],
    twins: &[usize],
    repeats: &[usize],
    rng: &mut Rng,
) -> Vec<Vec<Delivery>> {
    let mut timeline: Vec<(usize, usize, Delivery)> = Vec::new();
    for (at, (lane, fact)) in events.iter().enumerate() {
        let how = if twins.contains(&at) { How::Twins } else { How::First };
        let envelope = Envelope::new(format!("evt-{at:04}"), fact.event_type(), payload(fact))
            .with_source("https://shop.example/events");
        timeline.push((at, *lane, Delivery { fact: fact.clone(), envelope, how }));
    }
    for &at in repeats {
        let (_, lane, first) = timeline[at].clone();
        let later = at + rng.usize(1..EVENTS / 10);
        timeline.push((later, lane, Delivery { how: How::Again, ..first }));
    }
    timeline.sort_by_key(|(at, ..)| *at);
    let mut lanes = vec![Vec::new(); SKUS.len()];
    for (_, lane, delivery) in timeline {
        lanes[lane].push(delivery);
    }
    lanes
}

fn payload(fact: &Fact) -> String {
    match fact {
        Fact::Received { sku, quantity } => json!({ "sku": sku, "quantity": quantity }),
        Fact::Placed { order_id, sku, quantity } => {
            json!({ "order_id": order_id, "sku": sku, "quantity": quantity })
        }
        Fact::Cancelled { order_id } => json!({ "order_id": order_id }),
    }
    .to_string()
}

/// A shop that sells no more than it has.
#[derive(Default)]
struct Shop {
    shelves: [Shelf; SKUS.len()],
    orders: usize,
}

#[derive(Default)]
struct Shelf {
    free: i64,
    open: Vec<(String, i64)>,
}

impl Shop {
    /// The next event, and the sku it is about as an index.
    fn next(&mut self, rng: &mut Rng) -> (usize, Fact) {
        let at = rng.usize(..SKUS.len());
        let (sku, shelf) = (SKUS[at].to_owned(), &mut self.shelves[at]);
        if shelf.free < 5 {
            let quantity = rng.i64(20..60);
            shelf.free += quantity;
            return (at, Fact::Received { sku, quantity });
        }
        if !shelf.open.is_empty() && rng.u8(..100) < 30 {
            let (order_id, quantity) = shelf.open.swap_remove(rng.usize(..shelf.open.len()));
            shelf.free += quantity;
            return (at, Fact::Cancelled { order_id });
        }
        let quantity = rng.i64(1..=5);
        self.orders += 1;
        let order_id = format!("order-{:04}", self.orders);
        shelf.free -= quantity;
        shelf.open.push((order_id.clone(), quantity));
        (at, Fact::Placed { order_id, sku, quantity })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_quarter_is_delivered_again() {
        let traffic = Traffic::generate();
        let lanes = traffic.lanes.iter().flatten();
        let deliveries: usize = lanes.map(|d| if d.how == How::Twins { 2 } else { 1 }).sum();
        assert_eq!(traffic.facts.len(), 2000);
        assert_eq!(deliveries + traffic.outages.len(), 2500);
        assert_eq!(traffic.outages.iter().collect::<BTreeSet<_>>().len(), OUTAGES);
        assert_eq!(REDELIVERIES, 500);
    }

    #[test]
    fn every_lane_has_its_first_deliveries_in_order_and_repeats_after_them() {
        let traffic = Traffic::generate();
        let mut repeats = 0;
        for lane in &traffic.lanes {
            let mut seen = Vec::new();
            for delivery in lane {
                let message = format!("{:?}", delivery.envelope);
                if delivery.how == How::Again {
                    assert!(seen.contains(&message));
                    repeats += 1;
                } else {
                    assert!(seen.last() < Some(&message), "ids are numbered as they happened");
                    seen.push(message);
                }
            }
        }
        assert_eq!(repeats, REPEATS);
    }
}
