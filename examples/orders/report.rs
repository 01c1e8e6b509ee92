//! What the program tells on stdout.

use std::io::{Result, Write, stdout};
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};

use crate::tally::Tally;

/// One row of the demonstration's first deliveries.
pub(crate) fn row(time: &str, event: &str, about: &str, outcome: &str) -> Result<()> {
    line(&format!("{time:>8}  {event:<26} {about:<24} {outcome}"))
}

/// Seconds since the start, to the millisecond.
pub(crate) fn clock(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}

/// A line, at once.
pub(crate) fn line(text: &str) -> Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Names with their numbers.
pub(crate) fn counts(counts: &[(&str, u64)]) -> Result<()> {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    for (name, count) in counts {
        table.add_row([(*name).to_owned(), count.to_string()]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    line(&table.to_string())
}

/// The end of a stream, for people.
pub(crate) fn summary(tally: &Tally) -> Result<()> {
    counts(&[
        ("delivered", tally.delivered),
        ("processed", tally.processed),
        ("skipped (duplicates)", tally.skipped),
        ("failed (in a handler)", tally.failed),
        ("rejected (before any handler)", tally.rejected),
    ])
}

/// The end of a stream, for programs: one JSON object.
pub(crate) fn json(tally: &Tally) -> Result<()> {
    line(&serde_json::to_string(tally)?)
}
