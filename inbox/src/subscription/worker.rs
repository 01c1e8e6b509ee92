//! The workers of a subscription: what they take, and how it is dispatched.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::Settle;
use super::queue::{Taken, Waiting};
use super::shared::{Entry, Shared};
use crate::attempts::Attempts;
use crate::dead_letter::DeadLetters;
use crate::envelope::Envelope;
use crate::error::DispatchError;
use crate::inbox::Consumer;
use crate::outcome::Outcome;
use crate::store::InboxStore;

/// One of a subscription's workers.
pub(super) struct Worker<S: InboxStore, B> {
    pub(super) consumer: Consumer<S>,
    pub(super) shared: Arc<Shared<B>>,
}

impl<S: InboxStore + Attempts + DeadLetters, B: Settle> Worker<S, B> {
    pub(super) async fn work(self, _end: EndOnPanic) {
        let mut worker = self.consumer.worker();
        while let Some(taken) = self.shared.next().await {
            match taken {
                Taken::GiveBack(all) => {
                    join_all(all.into_iter().map(|waiting| self.give_back(waiting))).await;
                }
                Taken::Apart(waiting) => self.try_apart(&mut worker, waiting).await,
                Taken::Together(all) => self.dispatch_together(&mut worker, all).await,
            }
        }
    }

    /// First deliveries, which pay nothing for the count of their attempts.
    async fn dispatch_together(
        &self,
        worker: &mut crate::worker::Worker<S>,
        mut all: Vec<Waiting<Entry<B>>>,
    ) {
        let envelopes: Vec<Envelope> =
            all.iter_mut().map(|waiting| waiting.item.take_envelope()).collect();
        let running = self.shared.running.read().await;
        let answers: Vec<Result<Outcome, DispatchError>> = match envelopes.as_slice() {
            [one] => vec![worker.dispatch_entered(one).await],
            many => worker.dispatch_batch_entered(many).await,
        };
        drop(running);
        let settled =
            all.into_iter().zip(envelopes).zip(answers).map(|((mut waiting, envelope), answer)| {
                waiting.item.envelope = envelope;
                self.settle_first(waiting, answer)
            });
        join_all(settled).await;
    }
}

/// Handlers and decoding do not get a panic this far. Where an adapter does, its worker is gone, and what
/// it had taken would never be settled, nor let go.
pub(super) struct EndOnPanic(pub(super) CancellationToken);

impl Drop for EndOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.cancel();
        }
    }
}
