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
    /// Ours, in [`unit`](Self::unit).
    values: Vec<f64>,
    unit: &'static str,
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
        let ratios = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
        Self::sorted(bench, case, baseline, ours.to_vec(), "a second", ratios)
    }

    /// Against a goal that the values should stay below; without one there is no ratio.
    pub(crate) fn with_goal(
        bench: &'static str,
        case: &str,
        unit: &'static str,
        goal: Option<f64>,
        values: Vec<f64>,
    ) -> Self {
        let ratios = values.iter().map(|value| goal.unwrap_or(f64::NAN) / value).collect();
        let case = Case { name: format!("{case}, {unit}"), workers: 1, batch: 1 };
        Self::sorted(bench, case, "goal", values, unit, ratios)
    }

    fn sorted(
        bench: &'static str,
        case: Case,
        baseline: &'static str,
        mut values: Vec<f64>,
        unit: &'static str,
        mut ratios: Vec<f64>,
    ) -> Self {
        values.sort_by(f64::total_cmp);
        ratios.sort_by(f64::total_cmp);
        Self { bench, case, baseline, values, unit, ratios }
    }

    /// The quartiles of the ratios.
    fn quartiles(&self) -> [f64; 3] {
        [0.25, 0.5, 0.75].map(|part| quantile(&self.ratios, part))
    }

    fn as_json(&self) -> serde_json::Value {
        let [q1, median, q3] = self.quartiles();
        json!({
            "bench": self.bench, "case": self.case.name, "baseline": self.baseline,
            "workers": self.case.workers, "batch": self.case.batch, "ratio": median, "q1": q1, "q3": q3,
            "rounds": self.ratios.len(), "value": quantile(&self.values, 0.5), "unit": self.unit,
        })
    }

    fn as_row(&self) -> [String; 8] {
        let [q1, median, q3] = self.quartiles();
        let shown = |text: String| if median.is_nan() { "–".to_owned() } else { text };
        [
            self.case.name.clone(),
            self.case.workers.to_string(),
            self.case.batch.to_string(),
            self.baseline.to_owned(),
            shown(format!("{median:.2}")),
            shown(format!("{q1:.2}–{q3:.2}")),
            self.ratios.len().to_string(),
            format!("{:.1} {}", quantile(&self.values, 0.5), self.unit),
        ]
    }
}

const COLUMNS: [&str; 8] =
    ["case", "workers", "batch", "against", "ratio", "quartiles", "rounds", "ours"];

/// The value below which this part of sorted values lies.
fn quantile(values: &[f64], part: f64) -> f64 {
    let at = (values.len().saturating_sub(1)) as f64 * part;
    values.get(at.round() as usize).copied().unwrap_or(f64::NAN)
}

pub(crate) fn show(results: &[Comparison], as_json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if as_json {
        for result in results {
            writeln!(out, "{}", result.as_json())?;
        }
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(COLUMNS);
    for result in results {
        table.add_row(result.as_row());
    }
    writeln!(out, "{table}")?;
    Ok(())
}
