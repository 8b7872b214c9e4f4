//! What a session of the loop has spent and saved so far.

use std::collections::BTreeMap;

use trefoil::Outcome;
use trefoil::runs::{ActivityDecision, ReuseDecision};
use trefoil_runtime::Usage;

use crate::words::{grouped, money};

/// The figures of all runs of a session.
#[derive(Default)]
pub struct Session {
    runs: BTreeMap<String, Figures>,
}

#[derive(Default)]
struct Figures {
    calls: u64,
    spent: Usage,
    kept: u64,
    saved: Usage,
}

impl Session {
    /// Adds the figures of a run. A run that was continued replaces its earlier figures.
    pub fn add(&mut self, outcome: &Outcome, lines: &[ActivityDecision]) {
        let mut figures = Figures { calls: outcome.calls, spent: outcome.usage, ..Figures::default() };
        for line in lines.iter().flat_map(ActivityDecision::and_called) {
            if let ReuseDecision::Kept { saved, .. } = &line.fate {
                figures.kept += 1;
                saved.iter().for_each(|usage| figures.saved.add(*usage));
            }
        }
        self.runs.insert(outcome.run.to_string(), figures);
    }

    /// `10 model calls ($0.0186), 7 results kept (saved $0.0031)`; `None`: nothing has run.
    pub fn total(&self) -> Option<String> {
        let (mut calls, mut kept, mut spent, mut saved) = (0, 0, Usage::default(), Usage::default());
        for run in self.runs.values() {
            calls += run.calls;
            kept += run.kept;
            spent.add(run.spent);
            saved.add(run.saved);
        }
        let made = if calls == 1 { "1 model call".to_owned() } else { format!("{} model calls", grouped(calls)) };
        let results = if kept == 1 { "1 result".to_owned() } else { format!("{} results", grouped(kept)) };
        let kept = if kept == 0 { String::new() } else { format!(", {results} kept (saved {})", money(&saved)) };
        (!self.runs.is_empty()).then(|| format!("{made} ({}){kept}", money(&spent)))
    }
}
