//! What the model calls of each step used, from the entries of journals.

use std::collections::BTreeMap;

use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::{EntryKind, Key};
use trefoil_runtime::Usage;

/// What the model calls of a step used, in some runs: of all its passes, items and tries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepSpending {
    /// The flow whose run has the step.
    pub flow: String,
    /// The labels on the way to the step: its key without passes, items and tries.
    pub step: String,
    /// The model that answered last.
    pub model: Option<String>,
    /// In how many runs it was.
    pub runs: usize,
    /// The calls that were made.
    pub calls: u64,
    /// Those of them that failed, or whose process ended.
    pub failed: u64,
    /// Results of earlier runs that were used instead of a call.
    pub reused: u64,
    /// What the calls used.
    pub usage: Usage,
    /// How long they took together, in milliseconds.
    pub duration_ms: u64,
    /// The call that cost most.
    pub dearest: Option<DearestCall>,
}

/// The most expensive call of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DearestCall {
    /// Its run.
    pub run: String,
    /// Its key there.
    pub key: Key,
    /// What it cost, in millionths of a dollar.
    pub cost_micro: u64,
}

impl StepSpending {
    /// Adds what the same step used in other runs, which are older.
    pub fn add_spending(&mut self, more: &Self) {
        self.runs += more.runs;
        self.calls += more.calls;
        self.failed += more.failed;
        self.reused += more.reused;
        self.usage.add_usage(more.usage);
        self.duration_ms = self.duration_ms.saturating_add(more.duration_ms);
        if self.model.is_none() {
            self.model.clone_from(&more.model);
        }
        if let Some(call) = &more.dearest {
            self.note_cost(call.clone());
        }
    }

    fn note_cost(&mut self, call: DearestCall) {
        let is_more = match &self.dearest {
            Some(known) => call.cost_micro > known.cost_micro,
            None => call.cost_micro > 0,
        };
        if is_more {
            self.dearest = Some(call);
        }
    }
}

/// Collects what the steps of one run used. A journal also has the usage of runs that a tool started; that belongs to their own steps.
pub(super) struct RunSteps<'a> {
    run: &'a str,
    flow: &'a str,
    steps: BTreeMap<String, StepSpending>,
}

impl<'a> RunSteps<'a> {
    /// Those of a run whose entries come next.
    pub fn of_run(run: &'a str, flow: &'a str) -> Self {
        Self { run, flow, steps: BTreeMap::new() }
    }

    /// Takes in the next entry.
    pub fn add_entry(&mut self, entry: &EntryKind) {
        match entry {
            EntryKind::Completed { key, about, .. } => self.add_end(key, about, false),
            EntryKind::Failed { key, about, .. } => self.add_end(key, about, true),
            EntryKind::Resumed { lost, .. } => {
                for call in lost {
                    self.add_call(&call.key, call.usage, true);
                }
            }
            _ => {}
        }
    }

    fn add_end(&mut self, key: &Key, about: &ActivityMetadata, failed: bool) {
        // What was kept when the run was reopened has an entry of its own, from when it was paid.
        let (Some(model), None) = (&about.model, about.kept) else { return };
        if about.from.is_some() {
            self.step_of(key).reused += 1;
            return;
        }
        self.add_call(key, about.usage.unwrap_or_default(), failed);
        let step = self.step_of(key);
        step.model = Some(model.clone());
        step.duration_ms = step.duration_ms.saturating_add(about.duration_ms.unwrap_or_default());
    }

    fn add_call(&mut self, key: &Key, usage: Usage, failed: bool) {
        let call = DearestCall { run: self.run.to_owned(), key: key.clone(), cost_micro: usage.cost_micro };
        let step = self.step_of(key);
        step.calls += 1;
        step.failed += u64::from(failed);
        step.usage.add_usage(usage);
        step.note_cost(call);
    }

    fn step_of(&mut self, key: &Key) -> &mut StepSpending {
        let path = key.label_path().into_owned();
        let flow = self.flow;
        self.steps.entry(path.clone()).or_insert_with(|| StepSpending {
            flow: flow.to_owned(),
            step: path,
            runs: 1,
            ..StepSpending::default()
        })
    }

    /// What each step used.
    pub fn into_steps(self) -> Vec<StepSpending> {
        self.steps.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_machine::PrivateValue;
    use trefoil_machine::journal::Cited;

    fn completed(key: &str, cost_micro: u64, change: impl FnOnce(&mut ActivityMetadata)) -> EntryKind {
        let usage = Usage { input_tokens: 10, cost_micro, ..Usage::default() };
        let mut about = ActivityMetadata {
            model: Some("openai:small".to_owned()),
            usage: Some(usage),
            duration_ms: Some(20),
            ..ActivityMetadata::default()
        };
        change(&mut about);
        EntryKind::Completed { key: key.into(), value: PrivateValue::without_hidden("x"), about: Box::new(about) }
    }

    #[test]
    fn items_passes_and_tries_are_one_step_and_what_was_not_paid_does_not_count() {
        let mut steps = RunSteps::of_run("r1", "grades");
        let cited =
            Cited { run: "r0".into(), key: None, content: trefoil_machine::ContentKey::of_text(""), used: None };
        for entry in [
            completed("all[0]/grade", 5, |_| {}),
            completed("all[1]/grade!2", 7, |_| {}),
            completed("all[2]/grade", 0, |about| about.from = Some(Box::new(cited))),
            completed("all[0]/grade", 5, |about| about.kept = Some(3)),
            completed("search", 90, |about| about.model = None),
        ] {
            steps.add_entry(&entry);
        }
        let all = steps.into_steps();
        assert_eq!(all.len(), 1, "the usage of a tool is that of the run that it started: {all:?}");
        let step = &all[0];
        assert_eq!((&*step.flow, &*step.step, step.runs), ("grades", "all/grade", 1));
        assert_eq!((step.calls, step.reused, step.usage.cost_micro, step.duration_ms), (2, 1, 12, 40));
        let dearest = step.dearest.as_ref().unwrap();
        assert_eq!((&*dearest.run, dearest.key.as_str(), dearest.cost_micro), ("r1", "all[1]/grade!2", 7));
    }
}
