//! Lines that are applied together: one commit for all that end well.

use std::io;
use std::time::Duration;

use inbox::{DispatchError, DispatchErrorKind, Envelope, InboxStore, Outcome, Worker};
use tokio::io::AsyncBufRead;

use crate::handlers::StockError;
use crate::lines::{Line, Lines};

/// How long to wait before lines are tried again for which the database was not to be had: it restarts, or
/// another process keeps it locked. The lines after them wait too, for they may build on them.
const WAITS: [Duration; 5] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];

/// A batch ends with the line that brings it over so many bytes: no batch takes more memory than that and
/// one line.
const MAX_BYTES: usize = 16 << 20;

type Answer = Result<Outcome, DispatchError>;

/// Some lines that follow each other.
#[derive(Default)]
pub(crate) struct Batch {
    lines: Vec<Applied>,
    /// What is still to be dispatched, and which of the lines each is from.
    envelopes: Vec<Envelope>,
    places: Vec<usize>,
}

/// A line and what became of it.
pub(crate) struct Applied {
    pub(crate) number: u64,
    /// How many bytes of the stream end with it.
    pub(crate) position: u64,
    /// Before it is applied, that nothing was done.
    pub(crate) answer: Answer,
}

impl Batch {
    /// Reads so many lines, or what is left of the stream.
    pub(crate) async fn read<R: AsyncBufRead + Unpin>(
        lines: &mut Lines<R>,
        size: usize,
    ) -> io::Result<Self> {
        let (mut batch, mut bytes) = (Self::default(), 0);
        while batch.lines.len() < size && bytes < MAX_BYTES {
            let Some(line) = lines.next().await? else { break };
            bytes += line.text.as_ref().map_or(0, |text| text.len());
            batch.add(line);
        }
        Ok(batch)
    }

    fn add(&mut self, Line { number, position, text }: Line<'_>) {
        let read = text.and_then(|text| Envelope::from_cloud_event_json(text.as_bytes()));
        let answer = match read {
            Ok(envelope) => {
                self.envelopes.push(envelope);
                self.places.push(self.lines.len());
                Ok(Outcome::Ignored)
            }
            Err(problem) => Err(problem.into()),
        };
        self.lines.push(Applied { number, position, answer });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Applies the lines; `away` hears of the first line that waits for the database.
    pub(crate) async fn apply<S: InboxStore>(
        mut self,
        worker: &mut Worker<S>,
        away: impl Fn(u64, &DispatchError),
    ) -> Vec<Applied> {
        self.dispatch(worker).await;
        for wait in WAITS {
            let Some((number, error)) = self.keep_what_waits() else { break };
            away(number, error);
            tokio::time::sleep(wait).await;
            self.dispatch(worker).await;
        }
        self.lines
    }

    async fn dispatch<S: InboxStore>(&mut self, worker: &mut Worker<S>) {
        let answers = worker.dispatch_batch(&self.envelopes).await;
        for (&place, answer) in self.places.iter().zip(answers) {
            self.lines[place].answer = answer;
        }
    }

    /// Keeps for another try the lines for which the database was not to be had, and those after them that
    /// failed: perhaps because of it. Tells the first.
    fn keep_what_waits(&mut self) -> Option<(u64, &DispatchError)> {
        let error = |&place: &usize| self.lines[place].answer.as_ref().err();
        let is_lost = |place: &usize| error(place).is_some_and(is_the_databases);
        let first = self.places.iter().copied().find(is_lost)?;
        let mut waits = self.places.iter().map(|place| *place >= first && error(place).is_some());
        self.envelopes.retain(|_| waits.next().unwrap_or(false));
        self.places.retain(|place| *place >= first && self.lines[*place].answer.is_err());
        let Applied { number, answer, .. } = &self.lines[first];
        Some((*number, answer.as_ref().err()?))
    }
}

/// Whether it says nothing of the line: the inbox could not reach the database, or a handler lost it.
fn is_the_databases(error: &DispatchError) -> bool {
    let handlers =
        std::error::Error::source(error).and_then(|error| error.downcast_ref::<StockError>());
    matches!(error.kind(), DispatchErrorKind::Store | DispatchErrorKind::CommitUnknown)
        || handlers.is_some_and(StockError::is_a_lost_connection)
}
