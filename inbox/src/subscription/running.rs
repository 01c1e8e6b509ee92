//! [`RunningSubscription`]: the handle on a subscription, and [`StartError`]: why there is none.

use std::error::Error;
use std::fmt;
use std::future::Future;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{BrokerError, Health, Intake, Settle, SubscriptionOptions};
use crate::attempts::Attempts;
use crate::dead_letter::DeadLetters;
use crate::inbox::Consumer;
use crate::store::InboxStore;

/// A subscription that fetches and dispatches until it is stopped, or its inbox is. It connects anew by
/// itself. Dropped, it ends at once, and the broker delivers what was unsettled again.
#[derive(Debug)]
pub struct RunningSubscription {
    task: JoinHandle<()>,
    stop: CancellationToken,
    health: Health,
}

impl<S: InboxStore + Attempts + DeadLetters> Consumer<S> {
    /// For transports: [subscribes](Self::subscribe), and runs `carry`, which hands in what is delivered
    /// and drains the intake at its end.
    ///
    /// # Errors
    /// The inbox is stopping.
    pub fn start<B: Settle, F: Future<Output = ()> + Send + 'static>(
        &self,
        options: SubscriptionOptions,
        carry: impl FnOnce(Intake<B>) -> F,
    ) -> Result<RunningSubscription, StartError> {
        let (health, stop) = (Health::default(), CancellationToken::new());
        let intake = self.subscribe(options, health.clone(), stop.clone());
        let task = tokio::spawn(carry(intake.ok_or(StartError::Stopping)?));
        Ok(RunningSubscription { task, stop, health })
    }
}

impl RunningSubscription {
    /// How it is doing.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Fetches no more, finishes what was fetched, and resolves when all of it is settled: nothing of it
    /// is delivered again, but for messages that were waiting for another try.
    pub async fn stop(mut self) {
        self.stop.cancel();
        // Its end is all that matters: it answers nothing, and a panic in it has been printed.
        let _ = (&mut self.task).await;
    }
}

impl Drop for RunningSubscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Why a subscription was not started.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The broker did not answer, or refused.
    Broker {
        /// What was asked of it.
        doing: &'static str,
        /// The client's error.
        source: BrokerError,
    },
    /// The application's settings or the broker's would lose messages or starve: everything that is wrong,
    /// each with its remedy.
    Refused(Vec<String>),
    /// The inbox is stopping.
    Stopping,
}

impl StartError {
    /// For transports: what failed while `doing` something.
    pub fn broker<E: Into<BrokerError>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Broker { doing, source: source.into() }
    }

    /// For transports: an error where anything is wrong.
    ///
    /// # Errors
    /// [`Refused`](Self::Refused) with what is wrong.
    pub fn refused_for(problems: Vec<String>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self::Refused(problems)) }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broker { doing, source } => write!(f, "{doing}: {source}"),
            Self::Refused(problems) => {
                write!(f, "the subscription cannot be started: {}", problems.join("; "))
            }
            Self::Stopping => f.write_str("the inbox is stopping and starts no subscription"),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Broker { source, .. } => Some(source.as_ref()),
            Self::Refused(_) | Self::Stopping => None,
        }
    }
}
