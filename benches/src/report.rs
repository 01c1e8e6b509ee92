//! The ratios, as a table or as JSON lines.

use std::io::Write;

use comfy_table::{Table, presets::ASCII_MARKDOWN};
use serde_json::json;

use crate::rounds::Case;

/// Ours against one baseline; a ratio above 1 means that ours is faster.
pub(crate) struct Comparison {
    bench: &'static str,
    case: Case,
    baseline: &'static str,
    /// Ours, in messages a second.
    rates: Vec<f64>,
    ratios: Vec<f64>,
}

impl Comparison {
    /// From messages a second, round by round.
    pub(crate) fn new(
        bench: &'static str,
        case: Case,
        baseline: &'static str,
        ours: &[f64],
        theirs: &[f64],
    ) -> Self {
        let mut rates = ours.to_vec();
        let mut ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
        rates.sort_by(f64::total_cmp);
        ratios.sort_by(f64::total_cmp);
        Self { bench, case, baseline, rates, ratios }
    }
}

/// The value below which this part of sorted values lies.
fn quantile(values: &[f64], part: f64) -> f64 {
    let at = (values.len().saturating_sub(1)) as f64 * part;
    values.get(at.round() as usize).copied().unwrap_or(f64::NAN)
}

pub(crate) fn show(results: &[Comparison], as_json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header([
        "case",
        "workers",
        "batch",
        "against",
        "ratio",
        "quartiles",
        "rounds",
        "ours a second",
    ]);
    for Comparison { bench, case, baseline, rates, ratios } in results {
        let [q1, median, q3] = [0.25, 0.5, 0.75].map(|part| quantile(ratios, part));
        let rate = quantile(rates, 0.5);
        if as_json {
            let line = json!({
                "bench": bench, "case": case.name, "baseline": baseline, "workers": case.workers,
                "batch": case.batch, "ratio": median, "q1": q1, "q3": q3, "rounds": ratios.len(),
                "rate": rate,
            });
            writeln!(out, "{line}")?;
        }
        table.add_row([
            case.name.clone(),
            case.workers.to_string(),
            case.batch.to_string(),
            (*baseline).into(),
            format!("{median:.2}"),
            format!("{q1:.2}–{q3:.2}"),
            ratios.len().to_string(),
            format!("{rate:.0}"),
        ]);
    }
    if !as_json {
        writeln!(out, "{table}")?;
    }
    Ok(())
}
