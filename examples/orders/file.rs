//! `orders FILE`: a stream of CloudEvents, one JSON object a line, applied in line order.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use inbox::{DispatchError, Envelope, InboxStore, Outcome, Worker};
use tokio::fs::File;
use tokio::io::{AsyncBufRead, BufReader, stdin};

use crate::lines::Lines;
use crate::progress::Progress;
use crate::tally::Tally;

/// How often a message is tried while another process keeps the database locked. The store waits
/// for the lock each time.
const TRIES: u32 = 3;

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
            Ok(text) => apply_line(text, worker).await,
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
) -> Result<Outcome, DispatchError> {
    let envelope = Envelope::from_cloud_event_json(text.as_bytes())?;
    for _ in 1..TRIES {
        match worker.dispatch(&envelope).await {
            Err(error) if !error.counts_attempt() => {}
            answer => return answer,
        }
    }
    worker.dispatch(&envelope).await
}
