//! What a run that reuses results has kept, repeated and done.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use trefoil_ir::Program;
use trefoil_machine::request::{Activity, Request};
use trefoil_machine::{Key, PreparedProgram};
use trefoil_runtime::driver::HiddenValues;
use trefoil_runtime::driver::memo::{MemoDecision, ReuseOutcome};
use trefoil_template::{Hole, HoleKind};

use trefoil_project::flow::Flow;
use trefoil_runtime::locks::lock;
use trefoil_view::change_reasons::{
    ActivityDecision, ComparisonData, ReuseDecision, describe_decision, request_similarity,
};

/// The decisions for the steps of a run that reuses results of an earlier one.
pub struct StepDecisions {
    flow: Flow,
    program: Arc<Program>,
    had: Vec<Arc<Activity>>,
    decisions: Arc<Mutex<Vec<MemoDecision>>>,
    /// What must not be shown.
    seen: Arc<HiddenValues>,
    /// Those of the runs that it calls.
    called: LinesOfCalls,
}

/// The decisions of called runs, by the keys of the calls.
pub(crate) type LinesOfCalls = Arc<Mutex<Vec<(Key, StepDecisions)>>>;

/// What a run has done that was not there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NewResults {
    /// Calls of models.
    pub model_calls: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Shell commands.
    pub commands: u64,
    /// Questions to people.
    pub questions: u64,
}

impl NewResults {
    /// Both.
    pub fn add_results(self, Self { model_calls, tool_calls, commands, questions }: Self) -> Self {
        Self {
            model_calls: self.model_calls + model_calls,
            tool_calls: self.tool_calls + tool_calls,
            commands: self.commands + commands,
            questions: self.questions + questions,
        }
    }
}

impl StepDecisions {
    /// For a run.
    pub(crate) fn for_run(
        flow: Flow,
        program: Arc<Program>,
        decisions: Arc<Mutex<Vec<MemoDecision>>>,
        seen: Arc<HiddenValues>,
    ) -> Self {
        Self { flow, program, had: Vec::new(), decisions, seen, called: LinesOfCalls::default() }
    }

    /// Adds those of the runs that the run calls.
    pub(crate) fn with_called(self, called: LinesOfCalls) -> Self {
        Self { called, ..self }
    }

    /// Sets the results that the earlier run has.
    pub(super) fn with_earlier(self, had: Vec<Arc<Activity>>) -> Self {
        Self { had, ..self }
    }

    /// One line per activity, in the order in which they were requested.
    pub fn activity_decisions(&self) -> Vec<ActivityDecision> {
        let decisions = lock(&self.decisions);
        let mut renamed = BTreeMap::new();
        for decision in decisions.iter() {
            if let ReuseOutcome::Kept { was: Some(was), .. } = &decision.is {
                renamed.insert(was.clone(), decision.asked.key.clone());
            }
        }
        let files = &self.flow.loaded_target().files;
        let comparing = ComparisonData { files, program: Some(&self.program), renamed: &renamed, seen: &self.seen };
        let changed = self.changed_steps(&decisions);
        let called = lock(&self.called);
        let mut lines = Vec::new();
        for decision in decisions.iter() {
            let described = match changed.get(&decision.asked.key) {
                None => describe_decision(decision, &comparing),
                Some(before) => {
                    let is = ReuseOutcome::Again { before: before.clone(), lost: None };
                    describe_decision(&MemoDecision { asked: decision.asked.clone(), is }, &comparing)
                }
            };
            let Some(mut line) = described else { continue };
            line.called = Vec::new();
            for (key, beneath) in called.iter() {
                if *key == line.key && !line.fate.is_kept() {
                    line.called.extend(beneath.activity_decisions());
                }
            }
            lines.push(line);
        }
        lines
    }

    /// What was decided in runs that the run has called in this process, with the keys of the calls.
    /// [`activity_decisions`](Self::activity_decisions) has it at each
    /// call that was decided in this process, too: a resumed run makes a call again that was decided before.
    pub fn called_decisions(&self) -> Vec<(Key, Vec<ActivityDecision>)> {
        let called = lock(&self.called);
        called.iter().map(|(key, lines)| (key.clone(), lines.activity_decisions())).collect()
    }

    /// New calls of models and questions that were probably steps of the earlier run before they were renamed and changed, by their
    /// keys. Only the explanation depends on that.
    fn changed_steps(&self, decisions: &[MemoDecision]) -> BTreeMap<Key, Arc<Activity>> {
        let asks = |a: &Activity| matches!(a.request, Request::Model(_) | Request::Human(_));
        let met = decided_keys(decisions);
        let mut gone: Vec<_> = self.had.iter().filter(|a| asks(a) && !met.contains(a.key.without_try())).collect();
        let mut new = Vec::new();
        for MemoDecision { asked, is } in decisions {
            let is_first_try = asked.key.without_try() == asked.key.as_str();
            if matches!(is, ReuseOutcome::New) && asks(asked) && is_first_try {
                new.push(asked);
            }
        }
        if gone.is_empty() || new.is_empty() {
            return BTreeMap::new();
        }
        let prepared = PreparedProgram::new(self.program.clone());
        gone.retain(|before| !prepared.has_step_of(before));
        let mut pairs = BTreeMap::new();
        for asked in new {
            if let Some(at) = most_similar(&gone, asked) {
                pairs.insert(asked.key.clone(), gone.remove(at).clone());
            }
        }
        pairs
    }

    /// How much was done by the run and those that it called, by sort.
    pub fn count_new(&self) -> NewResults {
        let mut made = NewResults::default();
        let mut nothing = BTreeSet::new();
        for (call, lines) in lock(&self.called).iter() {
            let done = lines.count_new();
            if done == NewResults::default() {
                nothing.insert(call.clone());
            }
            made = made.add_results(done);
        }
        for MemoDecision { asked, is } in lock(&self.decisions).iter() {
            // A flow that has kept everything, or stopped before it did anything, was called for nothing.
            if !matches!(is, ReuseOutcome::New | ReuseOutcome::Again { .. }) || nothing.contains(&asked.key) {
                continue;
            }
            match asked.request {
                // Another try is the same call.
                Request::Model(_) => made.model_calls += u64::from(!asked.again),
                Request::Tool(_) => made.tool_calls += 1,
                Request::Command(_) => made.commands += 1,
                Request::Human(_) => made.questions += 1,
                Request::Describe(_) | Request::Timer { .. } | Request::Decide(_) => {}
            }
        }
        made
    }

    /// Environment variables in requests whose results were kept: `env.NAME`, without duplicates. Their values are not
    /// stored, so they were compared by name only.
    pub fn reused_variables(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        for decision in lock(&self.decisions).iter() {
            if !matches!(decision.is, ReuseOutcome::Kept { .. }) {
                continue;
            }
            decision.asked.request.visit_texts(&mut |text| {
                let _ = text.replace_holes(&mut |hole: &Hole| -> std::result::Result<_, Infallible> {
                    if hole.kind == HoleKind::Env {
                        names.insert(format!("env.{}", hole.name));
                    }
                    Ok(None)
                });
            });
        }
        names.into_iter().collect()
    }

    /// The results of the earlier run that were not used, in its order. If the run has not succeeded, the list may
    /// shrink.
    pub fn unused_results(&self) -> Vec<ActivityDecision> {
        let decisions = lock(&self.decisions);
        let mut met = decided_keys(&decisions);
        for before in self.changed_steps(&decisions).values() {
            met.insert(before.key.without_try().to_owned());
        }
        let mut unused = Vec::new();
        for had in &self.had {
            if met.contains(had.key.without_try()) {
                continue;
            }
            unused.push(ActivityDecision {
                key: had.key.clone(),
                fate: ReuseDecision::Unused,
                was: None,
                reasons: Vec::new(),
                called: Vec::new(),
            });
        }
        unused
    }
}

/// Which of these activities, that are not requested any more, this one is most similar to; of several, the first.
fn most_similar(gone: &[&Arc<Activity>], asked: &Activity) -> Option<usize> {
    let place = |a: &Activity| (a.request.sort_name(), a.labels.split_last().map(|(_, above)| above.to_vec()));
    let mut best: Option<(usize, f32)> = None;
    for (at, before) in gone.iter().enumerate() {
        // The same request was not changed: its result was dropped.
        if place(before) != place(asked) || before.content == asked.content {
            continue;
        }
        let similarity = request_similarity(before, asked);
        let is_better = match best {
            Some((_, most)) => similarity > most,
            None => true,
        };
        if is_better {
            best = Some((at, similarity));
        }
    }
    let (at, _) = best?;
    Some(at)
}

/// The keys of the earlier run that these decisions are about, without tries.
fn decided_keys(decisions: &[MemoDecision]) -> BTreeSet<String> {
    let mut met = BTreeSet::new();
    for decision in decisions {
        met.insert(decision.asked.key.without_try().to_owned());
        let is = match &decision.is {
            ReuseOutcome::Stopped(Some(before)) => before,
            is => is,
        };
        let was = match is {
            ReuseOutcome::Kept { was, .. } => was.as_ref(),
            ReuseOutcome::Again { before, .. } => Some(&before.key),
            ReuseOutcome::New | ReuseOutcome::Stopped(_) => None,
        };
        if let Some(was) = was {
            met.insert(was.without_try().to_owned());
        }
    }
    met
}
