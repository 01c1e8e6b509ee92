//! `orders FILE`: a stream of CloudEvents, one JSON object a line, applied in line order.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use inbox::{DispatchError, DispatchErrorKind, Envelope, InboxStore, Outcome, Worker};
use tokio::fs::File;
use tokio::io::{AsyncBufRead, BufReader, stdin};

use crate::handlers::StockError;
use crate::lines::Lines;
use crate::progress::Progress;
use crate::tally::Tally;

/// How long to wait before a line is tried again for which the database was not to be had: it restarts, or
/// another process keeps it locked. The lines after it wait too, for they may build on it.
const WAITS: [Duration; 5] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];

/// An open stream, and how many bytes it has where that is known.
pub(crate) struct Stream {
    input: Box<dyn AsyncBufRead + Unpin>,
    length: Option<u64>,
    path: PathBuf,
}

impl Stream {
    /// Opens a file, or stdin for `-`.
    pub(crate) async fn open(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            let input = Box::new(BufReader::new(stdin()));
            return Ok(Self { input, length: None, path: "stdin".into() });
        }
        let opened = async {
            let file = File::open(path).await?;
            let metadata = file.metadata().await?;
            if metadata.is_dir() {
                return Err(io::Error::from(io::ErrorKind::IsADirectory));
            }
            // A pipe has no length.
            Ok((file, metadata.is_file().then_some(metadata.len())))
        };
        let (file, length) =
            opened.await.with_context(|| format!("cannot read {}", path.display()))?;
        let input = Box::new(BufReader::with_capacity(64 << 10, file));
        Ok(Self { input, length, path: path.to_owned() })
    }
}

/// Applies every line and reports on stderr each that was not applied, with its number.
pub(crate) async fn apply<S: InboxStore>(
    stream: Stream,
    worker: &mut Worker<S>,
) -> anyhow::Result<Tally> {
    let mut lines = Lines::new(stream.input);
    let progress = Progress::new("lines", stream.length);
    let mut tally = Tally::default();
    while let Some(line) =
        lines.next().await.with_context(|| format!("cannot read {}", stream.path.display()))?
    {
        let answer = match line.text {
            Ok(text) => {
                let away = |error: &DispatchError| {
                    progress
                        .say(&format!("line {} waits for the database: {error:#}", line.number));
                };
                apply_line(text, worker, away).await
            }
            Err(problem) => Err(problem.into()),
        };
        if let Err(error) = &answer {
            progress.say(&format!("line {}: {error:#}", line.number));
        }
        tally.count(&answer);
        progress.advance(tally.delivered, line.position);
    }
    progress.finish();
    Ok(tally)
}

async fn apply_line<S: InboxStore>(
    text: &str,
    worker: &mut Worker<S>,
    away: impl Fn(&DispatchError),
) -> Result<Outcome, DispatchError> {
    let envelope = Envelope::from_cloud_event_json(text.as_bytes())?;
    for wait in WAITS {
        match worker.dispatch(&envelope).await {
            Err(error) if is_the_databases(&error) => {
                away(&error);
                tokio::time::sleep(wait).await;
            }
            answer => return answer,
        }
    }
    worker.dispatch(&envelope).await
}

/// Whether it says nothing of the line: the inbox could not reach the database, or a handler lost it.
fn is_the_databases(error: &DispatchError) -> bool {
    let handlers = error.source().and_then(|error| error.downcast_ref::<StockError>());
    matches!(error.kind(), DispatchErrorKind::Store | DispatchErrorKind::CommitUnknown)
        || handlers.is_some_and(StockError::is_a_lost_connection)
}
