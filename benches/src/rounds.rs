//! Interleaved slices: each round gives every contender one, so that what else the machine does
//! meets them alike, and the ratios are taken round by round.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::contender::Contender;
use crate::report::Comparison;

/// What is compared.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) workers: usize,
    pub(crate) batch: usize,
}

pub(crate) struct Rounds {
    bench: &'static str,
    rounds: usize,
    slice: Duration,
    progress: ProgressBar,
    results: Vec<Comparison>,
}

impl Rounds {
    /// `slices`: over all cases, how many there are in one round.
    pub(crate) fn new(bench: &'static str, quick: bool, slices: usize) -> anyhow::Result<Self> {
        let (rounds, slice) = if quick { (5, 200) } else { (21, 1000) };
        let style = "{bar:40} {pos}/{len} slices, {eta} left: {msg}";
        let progress = ProgressBar::new((rounds * slices) as u64)
            .with_style(ProgressStyle::with_template(style)?);
        let slice = Duration::from_millis(slice);
        Ok(Self { bench, rounds, slice, progress, results: Vec::new() })
    }

    /// Each of ours against each of the baselines that are compared with it.
    pub(crate) async fn compare(
        &mut self,
        case: Case,
        ours: &[Contender],
        baselines: &[Contender],
    ) -> anyhow::Result<()> {
        let mut rates = vec![Vec::new(); ours.len() + baselines.len()];
        for _ in 0..self.rounds {
            for (contender, rates) in ours.iter().chain(baselines).zip(&mut rates) {
                let name = contender.name;
                self.progress.set_message(format!("{name}, {}, {}", case.name, case.workers));
                rates.push(contender.slice(self.slice).await?);
                self.progress.inc(1);
            }
        }
        let (our_rates, their_rates) = rates.split_at(ours.len());
        for (ours, our_rates) in ours.iter().zip(our_rates) {
            let rivals = baselines.iter().zip(their_rates);
            let rivals = rivals.filter(|(baseline, _)| baseline.is_compared_with(ours.name));
            for (baseline, their_rates) in rivals {
                let name = format!("{}, {}", ours.name, case.name);
                let case = Case { name, ..case };
                let comparison =
                    Comparison::new(self.bench, case, baseline.name, our_rates, their_rates);
                self.results.push(comparison);
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Vec<Comparison> {
        self.progress.finish_and_clear();
        self.results
    }
}
