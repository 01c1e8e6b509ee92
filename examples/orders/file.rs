//! `orders FILE`: a stream of CloudEvents, one JSON object a line, applied in line order.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use inbox::{DispatchError, InboxStore, Worker};
use tokio::fs::File;
use tokio::io::{AsyncBufRead, BufReader, stdin};

use crate::batch::{Applied, Batch};
use crate::lines::Lines;
use crate::progress::Progress;
use crate::tally::Tally;

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

/// Applies every line, `size` of them at a time, and reports on stderr each that was not applied, with its
/// number.
pub(crate) async fn apply<S: InboxStore>(
    stream: Stream,
    worker: &mut Worker<S>,
    size: usize,
) -> anyhow::Result<Tally> {
    let mut lines = Lines::new(stream.input);
    let progress = Progress::new("lines", stream.length);
    let mut tally = Tally::default();
    loop {
        let batch = Batch::read(&mut lines, size)
            .await
            .with_context(|| format!("cannot read {}", stream.path.display()))?;
        if batch.is_empty() {
            break;
        }
        let away = |number, error: &DispatchError| {
            progress.say(&format!("line {number} waits for the database: {error:#}"));
        };
        for Applied { number, position, answer } in batch.apply(worker, away).await {
            if let Err(error) = &answer {
                progress.say(&format!("line {number}: {error:#}"));
            }
            tally.count(&answer);
            progress.advance(tally.delivered, position);
        }
    }
    progress.finish();
    Ok(tally)
}
