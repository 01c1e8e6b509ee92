//! What all connections of a proxy share.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::frame::Frame;
use super::message::{Message, Names, Side, Trace};
use super::rule::{Armed, Order};
use super::trips::Trips;

/// Older messages are forgotten: a benchmark sends millions.
const KEPT: usize = 1 << 16;

#[derive(Default)]
struct Page {
    trace: VecDeque<Message>,
    round_trips: usize,
    last_connection: usize,
    rules: Vec<Armed>,
}

pub(super) struct Journal {
    page: Mutex<Page>,
    pub(super) latency: watch::Sender<Duration>,
    /// Counts up: whoever stalls waits for the next.
    pub(super) healed: watch::Sender<u64>,
    /// Counts up: whoever is connected goes.
    pub(super) cut: watch::Sender<u64>,
}

/// What the journal knows of one connection.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    number: usize,
    ready: bool,
    names: Names,
    trips: Trips,
}

impl Conversation {
    pub(super) fn answers_due(&self) -> usize {
        self.trips.answers_due()
    }
}

impl Journal {
    pub(super) fn new() -> Self {
        Self {
            page: Mutex::default(),
            latency: watch::Sender::new(Duration::ZERO),
            healed: watch::Sender::new(0),
            cut: watch::Sender::new(0),
        }
    }

    pub(super) fn open(&self, conversation: &mut Conversation) {
        let mut page = self.page();
        page.last_connection += 1;
        conversation.number = page.last_connection;
    }

    /// Reads frames that are about to be passed on, up to the first that a rule has an order about. All of them under one
    /// lock, so that requests sent together are one trip before any of them can be answered. `skip_rules` is for the first
    /// frame, whose order has been carried out. Answers how many were read and the order about the next one (before) or the
    /// last one (after).
    pub(super) fn read(
        &self,
        conversation: &mut Conversation,
        side: Side,
        frames: &[Frame],
        mut skip_rules: bool,
    ) -> (usize, Option<Order>) {
        let mut page = self.page();
        for (index, frame) in frames.iter().enumerate() {
            if !conversation.ready {
                conversation.ready = side == Side::Server && frame.kind() == b'Z';
                continue;
            }
            let text = conversation.names.text(side, frame);
            let message =
                Message { connection: conversation.number, side, kind: frame.kind().into(), text };
            let order = if skip_rules { None } else { page.order_about(&message) };
            skip_rules = false;
            if let Some(order) = &order
                && order.is_before()
            {
                return (index, Some(order.clone()));
            }
            page.note(message);
            match side {
                Side::Client => {
                    page.round_trips += usize::from(conversation.trips.client(frame.kind()))
                }
                Side::Server => conversation.trips.server(frame.kind()),
            }
            if order.is_some() {
                return (index + 1, order);
            }
        }
        (frames.len(), None)
    }

    pub(super) fn add(&self, rule: Armed) {
        self.page().rules.push(rule);
    }

    pub(super) fn round_trips(&self) -> usize {
        self.page().round_trips
    }

    pub(super) fn trace(&self) -> Trace {
        Trace(self.page().trace.iter().cloned().collect())
    }

    pub(super) fn reset(&self) {
        let mut page = self.page();
        *page = Page { last_connection: page.last_connection, ..Page::default() };
    }

    fn page(&self) -> MutexGuard<'_, Page> {
        self.page.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Page {
    fn note(&mut self, message: Message) {
        if self.trace.len() == KEPT {
            self.trace.pop_front();
        }
        self.trace.push_back(message);
    }

    /// Every rule counts the message; the first that fires is spent and has its way.
    fn order_about(&mut self, message: &Message) -> Option<Order> {
        let orders: Vec<_> = self.rules.iter_mut().map(|rule| rule.sees(message)).collect();
        let index = orders.iter().position(Option::is_some)?;
        self.rules.remove(index);
        orders.into_iter().nth(index).flatten()
    }
}
