//! PostgreSQL's framing: a type byte, the length of the rest in four bytes, the rest. A connection's first packets lack the
//! type byte.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

const CHUNK: usize = 64 * 1024;

/// One message as it was on the wire.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    bytes: Vec<u8>,
}

impl Frame {
    pub(super) fn kind(&self) -> u8 {
        self.bytes[0]
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.bytes[5..]
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// How far to read before what has arrived is handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Whatever is whole.
    AnyFrame,
    /// Nothing is left half: what a client flushed at once stays together, however TCP cut it up.
    NothingIsHalf,
}

pub(super) struct FrameReader<R> {
    from: R,
    buffer: Vec<u8>,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, buffer: Vec::new() }
    }

    /// What arrived together; `None` when the connection has ended.
    pub(super) async fn next(&mut self, until: Until) -> io::Result<Option<Vec<Frame>>> {
        loop {
            let (whole, rest) = whole_frames(&self.buffer)?;
            if !whole.is_empty() && (until == Until::AnyFrame || rest == self.buffer.len()) {
                let frames = whole
                    .into_iter()
                    .map(|range| Frame { bytes: self.buffer[range].to_vec() })
                    .collect();
                self.buffer.drain(..rest);
                return Ok(Some(frames));
            }
            if !self.read().await? {
                return Ok(None);
            }
        }
    }

    /// A packet without a type byte: its code and its bytes.
    pub(super) async fn startup(&mut self) -> io::Result<Option<(u32, Vec<u8>)>> {
        loop {
            if let Some(length) = number_at(&self.buffer, 0) {
                let length = checked(length, 8)?;
                if let Some(code) =
                    number_at(&self.buffer, 4).filter(|_| self.buffer.len() >= length)
                {
                    return Ok(Some((code, self.buffer.drain(..length).collect())));
                }
            }
            if !self.read().await? {
                return Ok(None);
            }
        }
    }

    async fn read(&mut self) -> io::Result<bool> {
        self.buffer.reserve(CHUNK);
        Ok(self.from.read_buf(&mut self.buffer).await? > 0)
    }
}

/// Where the whole frames are, and where they end.
fn whole_frames(buffer: &[u8]) -> io::Result<(Vec<std::ops::Range<usize>>, usize)> {
    let mut frames = Vec::new();
    let mut start = 0;
    while let Some(length) = number_at(buffer, start + 1) {
        let end = start + 1 + checked(length, 4)?;
        if end > buffer.len() {
            break;
        }
        frames.push(start..end);
        start = end;
    }
    Ok((frames, start))
}

fn number_at(buffer: &[u8], start: usize) -> Option<u32> {
    buffer.get(start..start + 4)?.try_into().ok().map(u32::from_be_bytes)
}

/// PostgreSQL's own limit is 1 GiB: more means that we have lost our place.
fn checked(length: u32, least: usize) -> io::Result<usize> {
    let length = length as usize;
    if (least..=1 << 30).contains(&length) {
        Ok(length)
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUERY: &[u8] = b"Q\0\0\0\x0dSELECT 1\0";
    const SYNC: &[u8] = b"S\0\0\0\x04";

    #[tokio::test]
    async fn frames_are_found_however_the_stream_is_cut_up() {
        let stream = [QUERY, SYNC, QUERY].concat();
        for cut in 1..stream.len() {
            let (first, second) = stream.split_at(cut);
            let mut reader = FrameReader::new(AsyncReadExt::chain(first, second));
            let frames = reader.next(Until::NothingIsHalf).await.unwrap().unwrap();
            let mut kinds: Vec<u8> = frames.iter().map(Frame::kind).collect();
            if let Some(more) = reader.next(Until::NothingIsHalf).await.unwrap() {
                kinds.extend(more.iter().map(Frame::kind));
            }
            assert_eq!(kinds, b"QSQ", "cut at {cut}");
            assert_eq!(frames[0].body(), &QUERY[5..]);
        }
    }

    #[tokio::test]
    async fn a_flush_is_handed_on_only_when_nothing_is_half() {
        let half = [QUERY, &SYNC[..2]].concat();
        let mut reader = FrameReader::new(&half[..]);
        assert_eq!(
            reader.next(Until::NothingIsHalf).await.unwrap(),
            None,
            "the stream ended half-way"
        );
        let mut reader = FrameReader::new(&half[..]);
        assert_eq!(reader.next(Until::AnyFrame).await.unwrap().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_length_that_cannot_be_is_an_error() {
        for length in [[0, 0, 0, 3], [0xff; 4]] {
            let bytes = [b"Q", &length[..]].concat();
            assert!(FrameReader::new(&bytes[..]).next(Until::AnyFrame).await.is_err());
        }
    }
}
