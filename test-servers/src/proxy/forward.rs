//! Passing messages on in one direction, and carrying out what rules order.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::{mpsc, watch};

use super::frame::Frame;
use super::journal::{Conversation, Journal};
use super::message::Side;
use super::rule::{Action, Order};

/// What arrived together, and when.
pub(super) type Arrival = (Instant, Vec<Frame>);

/// How forwarding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Closed,
    Cut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Free,
    /// The client's messages wait until the answer that is to be withheld has come.
    ForAnswer,
    Everything,
}

/// What the two directions of a connection share.
pub(super) struct Link {
    journal: Arc<Journal>,
    conversation: Mutex<Conversation>,
    hold: watch::Sender<Hold>,
    withheld: Mutex<Option<Order>>,
}

impl Link {
    pub(super) fn new(journal: Arc<Journal>) -> Self {
        let mut conversation = Conversation::default();
        journal.open(&mut conversation);
        Self {
            journal,
            conversation: Mutex::new(conversation),
            hold: watch::Sender::new(Hold::Free),
            withheld: Mutex::new(None),
        }
    }

    /// Passes on what one side sends until it ends. Dropping `to` tells the other side.
    pub(super) async fn forward(
        &self,
        side: Side,
        mut arrivals: mpsc::Receiver<Arrival>,
        mut to: OwnedWriteHalf,
    ) -> io::Result<End> {
        let mut withheld = Vec::new();
        while let Some((at, mut frames)) = arrivals.recv().await {
            self.latency(at).await;
            if side == Side::Server && self.is_withholding() {
                withheld.append(&mut frames);
                if !self.is_whole_answer(&withheld) {
                    continue;
                }
                frames = std::mem::take(&mut withheld);
                if self.carry_out_withheld().await == End::Cut {
                    return Ok(End::Cut);
                }
            }
            if self.pass(side, &frames, &mut to).await? == End::Cut {
                return Ok(End::Cut);
            }
        }
        Ok(End::Closed)
    }

    async fn pass(&self, side: Side, frames: &[Frame], to: &mut OwnedWriteHalf) -> io::Result<End> {
        let mut rest = frames;
        let mut obeyed = false;
        while !rest.is_empty() {
            self.until_free(side).await;
            let (count, order) = self.journal.read(&mut self.conversation(), side, rest, obeyed);
            let (passing, waiting) = rest.split_at(count);
            rest = waiting;
            obeyed = order.as_ref().is_some_and(Order::is_before);
            let order = order.and_then(|order| self.withhold_answer(side, passing, order));
            to.write_all(&passing.iter().flat_map(Frame::bytes).copied().collect::<Vec<u8>>())
                .await?;
            if let Some(order) = order
                && self.carry_out(&order).await == End::Cut
            {
                return Ok(End::Cut);
            }
        }
        Ok(End::Closed)
    }

    /// Leaves an order that comes after a request to the other direction, to be carried out when the answer has come. Before
    /// the request is passed on, so that the answer cannot be faster.
    fn withhold_answer(&self, side: Side, passing: &[Frame], order: Order) -> Option<Order> {
        let is_request =
            passing.last().is_some_and(|frame| matches!(frame.kind(), b'Q' | b'S' | b'F'));
        if side == Side::Server || order.is_before() || !is_request {
            return Some(order);
        }
        *self.withheld.lock().unwrap_or_else(PoisonError::into_inner) = Some(order);
        self.hold.send_replace(Hold::ForAnswer);
        None
    }

    fn is_withholding(&self) -> bool {
        self.withheld.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Whether everything that was asked has been answered, once these have been passed on.
    fn is_whole_answer(&self, withheld: &[Frame]) -> bool {
        let ready = withheld.iter().filter(|frame| frame.kind() == b'Z').count();
        ready >= self.conversation().answers_due()
    }

    async fn carry_out_withheld(&self) -> End {
        let order = self.withheld.lock().unwrap_or_else(PoisonError::into_inner).take();
        match order {
            Some(order) => self.carry_out(&order).await,
            None => End::Closed,
        }
    }

    /// Answers `Cut` if the connection is to end.
    async fn carry_out(&self, order: &Order) -> End {
        let mut healed = self.journal.healed.subscribe(); // before anyone can know that there is something to heal
        self.hold.send_replace(Hold::Everything);
        order.tell_that_it_fired();
        match order.action {
            Action::Cut => return End::Cut,
            Action::Delay(time) => tokio::time::sleep(time).await,
            Action::Stall => drop(healed.changed().await),
        }
        self.hold.send_replace(Hold::Free);
        End::Closed
    }

    async fn until_free(&self, side: Side) {
        let passes = |hold: &Hold| match hold {
            Hold::Free => true,
            Hold::ForAnswer => side == Side::Server, // what it had sent before that answer
            Hold::Everything => false,
        };
        let _ = self.hold.subscribe().wait_for(passes).await; // the sender is ours, so it cannot be gone
    }

    /// A thread's sleep is exact to some fifty microseconds; the runtime's timer counts milliseconds.
    async fn latency(&self, arrived: Instant) {
        let latency: Duration = *self.journal.latency.borrow();
        let left = latency.saturating_sub(arrived.elapsed());
        if !left.is_zero() {
            let _ = tokio::task::spawn_blocking(move || std::thread::sleep(left)).await;
        }
    }

    fn conversation(&self) -> std::sync::MutexGuard<'_, Conversation> {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
