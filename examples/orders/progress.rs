//! How far the program is, on stderr: a bar on a terminal, a plain line now and then elsewhere.

use std::io::{IsTerminal, Write, stderr};

use indicatif::{ProgressBar, ProgressStyle};

/// Counts things done, out of `length` units where the whole is known.
pub(crate) struct Progress {
    /// `None` where stderr is no terminal.
    bar: Option<ProgressBar>,
    things: &'static str,
}

impl Progress {
    pub(crate) fn new(things: &'static str, length: Option<u64>) -> Self {
        let bar = stderr().is_terminal().then(|| bar(length));
        Self { bar, things }
    }

    /// So many things are done, and the whole is at `position`.
    pub(crate) fn advance(&self, done: u64, position: u64) {
        let things = self.things;
        match &self.bar {
            Some(bar) => {
                bar.set_position(position);
                // As often as an eye can follow; the bar itself keeps its own rate.
                if done.is_multiple_of(64) {
                    bar.set_message(format!("{done} {things}"));
                }
            }
            None if is_round(done) => say(&format!("{done} {things}")),
            None => {}
        }
    }

    /// Writes a line to stderr, above the bar.
    pub(crate) fn say(&self, line: &str) {
        self.aside(|| say(line));
    }

    /// Lets `write` write to the terminal, above the bar.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A closed stderr is no reason to stop.
pub(crate) fn say(line: &str) {
    let _ = writeln!(stderr(), "{line}");
}

fn bar(length: Option<u64>) -> ProgressBar {
    let (bar, template) = match length {
        Some(length) => (ProgressBar::new(length), "{bar:40} {percent:>3}%  {msg}  ({eta} left)"),
        None => (ProgressBar::new_spinner(), "{spinner} {msg}  ({elapsed})"),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// 1,000, 2,000 … 10,000, 20,000 … 100,000, 200,000 …: seldom, and early enough to see it move.
fn is_round(done: u64) -> bool {
    let step = 10_u64.pow(done.max(1000).ilog10());
    done.is_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_are_sparse() {
        let told: Vec<u64> = (1..=30_000).filter(|done| is_round(*done)).collect();
        let first = [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10_000, 20_000, 30_000];
        assert_eq!(told, first);
    }
}
