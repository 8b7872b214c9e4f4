//! What a session of the loop has spent and saved so far.

use std::collections::BTreeMap;

use trefoil::Outcome;
use trefoil::runs::{ActivityDecision, ReuseDecision};
use trefoil_runtime::Usage;

use crate::words::{format_cost, group_digits};

/// The figures of all runs of a session.
#[derive(Default)]
pub struct SessionFigures {
    runs: BTreeMap<String, RunFigures>,
}

#[derive(Default)]
struct RunFigures {
    calls: u64,
    spent: Usage,
    kept: u64,
    saved: Usage,
}

impl SessionFigures {
    /// Adds the figures of a run. A run that was continued replaces its earlier figures.
    pub fn add_run(&mut self, outcome: &Outcome, lines: &[ActivityDecision]) {
        let mut figures = RunFigures { calls: outcome.calls, spent: outcome.usage, ..RunFigures::default() };
        for line in lines {
            for line in line.and_called() {
                if let ReuseDecision::Kept { saved, .. } = &line.fate {
                    figures.kept += 1;
                    saved.iter().for_each(|usage| figures.saved.add_usage(*usage));
                }
            }
        }
        self.runs.insert(outcome.run.to_string(), figures);
    }

    /// `10 model calls ($0.0186), 7 results kept (saved $0.0031)`; `None`: nothing has run.
    pub fn format_total(&self) -> Option<String> {
        if self.runs.is_empty() {
            return None;
        }
        let (mut calls, mut kept, mut spent, mut saved) = (0, 0, Usage::default(), Usage::default());
        for run in self.runs.values() {
            calls += run.calls;
            kept += run.kept;
            spent.add_usage(run.spent);
            saved.add_usage(run.saved);
        }
        let made = if calls == 1 { "1 model call".to_owned() } else { format!("{} model calls", group_digits(calls)) };
        let results = if kept == 1 { "1 result".to_owned() } else { format!("{} results", group_digits(kept)) };
        let kept = if kept == 0 { String::new() } else { format!(", {results} kept (saved {})", format_cost(&saved)) };
        Some(format!("{made} ({}){kept}", format_cost(&spent)))
    }
}
