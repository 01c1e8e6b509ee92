//! Lines of a stream of any length, in bounded memory.

use std::io;

use inbox::InvalidEnvelope;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// The longest line that is kept: a payload of the inbox's limit (1 MiB), as Base64 a third longer,
/// and room for its attributes.
const MAX_BYTES: usize = 2 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The lines of `input` that are not blank.
pub(crate) struct Lines<R> {
    input: R,
    /// Lines begun so far, the blank ones included.
    number: u64,
    /// Bytes read so far.
    position: u64,
    line: Vec<u8>,
    overlong: bool,
    blank: bool,
}

/// One line, or why it cannot be read as one.
pub(crate) struct Line<'a> {
    /// Its number, from 1, as an editor counts.
    pub(crate) number: u64,
    /// How many bytes of the stream end with it.
    pub(crate) position: u64,
    pub(crate) text: Result<&'a str, InvalidEnvelope>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        let line = Vec::new();
        Self { input, number: 0, position: 0, line, overlong: false, blank: true }
    }

    /// The next line that is not blank, or `None` at the end.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        while self.read().await? {
            if !self.blank {
                let (number, position) = (self.number, self.position);
                return Ok(Some(Line { number, position, text: self.text() }));
            }
        }
        Ok(None)
    }

    /// Reads one line to its end and keeps as much of it as may be kept. False at the end.
    async fn read(&mut self) -> io::Result<bool> {
        self.line.clear();
        (self.overlong, self.blank) = (false, true);
        let start = self.position;
        loop {
            let bytes = self.input.fill_buf().await?;
            if bytes.is_empty() {
                self.number += u64::from(self.position > start);
                return Ok(self.position > start);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let kept = part.len().min(MAX_BYTES - self.line.len());
            self.line.extend_from_slice(&part[..kept]);
            self.overlong |= kept < part.len();
            self.blank &= is_blank(part, self.position == 0);
            let used = part.len() + usize::from(end.is_some());
            self.position += used as u64;
            self.input.consume(used);
            if end.is_some() {
                self.number += 1;
                return Ok(true);
            }
        }
    }

    fn text(&self) -> Result<&str, InvalidEnvelope> {
        if self.overlong {
            let problem = format!("is longer than {MAX_BYTES} bytes");
            return Err(InvalidEnvelope::new("line", problem));
        }
        let line = match self.number {
            1 => self.line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.line),
            _ => &self.line,
        };
        std::str::from_utf8(line).map_err(|error| {
            let problem = format!("is not UTF-8 (byte {})", error.valid_up_to() + 1);
            InvalidEnvelope::new("line", problem)
        })
    }
}

fn is_blank(part: &[u8], first: bool) -> bool {
    let part = if first { part.strip_prefix(BYTE_ORDER_MARK).unwrap_or(part) } else { part };
    part.trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    /// Number and text of each line, read through a buffer of `buffer` bytes.
    async fn read(stream: &[u8], buffer: usize) -> Vec<(u64, Result<String, String>)> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, stream));
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            read.push((line.number, line.text.map(str::to_owned).map_err(|e| e.to_string())));
        }
        read
    }

    #[tokio::test]
    async fn blank_lines_are_numbered_and_left_out() {
        for buffer in [1, 3, 1024] {
            let read = read(b"\xef\xbb\xbfa\r\n\n \t\r\n\nb\n\n  \nc", buffer.max(3)).await;
            let a = (1, Ok("a\r".to_owned()));
            assert_eq!(read, [a, (5, Ok("b".to_owned())), (8, Ok("c".to_owned()))]);
        }
    }

    #[tokio::test]
    async fn a_stream_of_nothing_has_no_lines() {
        for nothing in [&b""[..], b"\n", b"\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n", b" "] {
            assert_eq!(read(nothing, 1024).await, [], "{nothing:?}");
        }
    }

    #[tokio::test]
    async fn a_line_that_is_not_utf_8_says_where() {
        let read = read(b"a\nb\xff\nc\n", 1024).await;
        assert_eq!(read[1], (2, Err("the line is not UTF-8 (byte 2)".to_owned())));
        assert_eq!(read[2], (3, Ok("c".to_owned())));
    }

    #[tokio::test]
    async fn an_overlong_line_is_refused_and_never_kept_whole() {
        let mut stream = vec![b'x'; MAX_BYTES];
        stream.extend_from_slice(b"\n");
        stream.resize(stream.len() + 4 * MAX_BYTES, b'y');
        stream.extend_from_slice(b"\nz");
        let mut lines = Lines::new(BufReader::new(&stream[..]));
        assert_eq!(lines.next().await.unwrap().unwrap().text.unwrap().len(), MAX_BYTES);
        let overlong = lines.next().await.unwrap().unwrap();
        assert_eq!((overlong.number, overlong.text.unwrap_err().field()), (2, "line"));
        assert!(lines.line.capacity() <= 2 * MAX_BYTES);
        let last = lines.next().await.unwrap().unwrap();
        assert_eq!((last.number, last.text), (3, Ok("z")));
    }
}
