//! The ratios, as a table or as JSON lines.

use std::io::Write;

use comfy_table::Table;
use serde_json::json;

/// Ours against one baseline; a ratio above 1 means that ours is faster.
pub(crate) struct Result {
    case: String,
    baseline: &'static str,
    workers: usize,
    ratios: Vec<f64>,
}

impl Result {
    pub(crate) fn new(
        case: String,
        baseline: &'static str,
        workers: usize,
        mut ratios: Vec<f64>,
    ) -> Self {
        ratios.sort_by(f64::total_cmp);
        Self { case, baseline, workers, ratios }
    }

    /// The ratio below which this part of the rounds lies.
    fn quantile(&self, part: f64) -> f64 {
        let at = (self.ratios.len().saturating_sub(1)) as f64 * part;
        self.ratios.get(at.round() as usize).copied().unwrap_or(f64::NAN)
    }
}

pub(crate) fn show(results: &[Result], as_json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut table = Table::new();
    table.set_header(["case", "against", "workers", "ratio", "quartiles", "rounds"]);
    for result in results {
        let [q1, median, q3] = [0.25, 0.5, 0.75].map(|part| result.quantile(part));
        let (workers, rounds) = (result.workers, result.ratios.len());
        if as_json {
            let line = json!({
                "bench": "dispatch", "case": result.case, "baseline": result.baseline,
                "workers": workers, "batch": 1, "ratio": median, "q1": q1, "q3": q3,
                "rounds": rounds,
            });
            writeln!(out, "{line}")?;
        }
        table.add_row([
            result.case.clone(),
            result.baseline.into(),
            workers.to_string(),
            format!("{median:.2}"),
            format!("{q1:.2}–{q3:.2}"),
            rounds.to_string(),
        ]);
    }
    if !as_json {
        writeln!(out, "{table}")?;
    }
    Ok(())
}
