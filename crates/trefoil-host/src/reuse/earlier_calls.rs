//! Whether the flow of a call was called before, in a run whose results the calling run reuses, and what of that is reused.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use trefoil_machine::journal::Basis;
use trefoil_machine::step_path::RunPath;
use trefoil_machine::{Key, PreparedProgram, PrivateValue};
use trefoil_runtime::driver::memo::{EVERY_STEP, EarlierCall, Memo, MemoDecision, ReuseOutcome};
use trefoil_store::Store;
use trefoil_template::Value;

use super::request::ReuseRequest;
use crate::durable::{call_run_id, called_runs, cited_results, last_call_run, start_entry};
use trefoil_runtime::locks::lock;

/// The tool calls of the earlier runs whose results a run reuses.
pub(crate) struct EarlierCalls {
    /// The earlier runs, the newest first.
    runs: Vec<Arc<str>>,
    /// Their calls, with whether the step that made the call is not in the run's program.
    calls: Vec<(EarlierCall, bool)>,
    /// The steps whose tools and commands may be repeated.
    rerun: Vec<String>,
    /// Whether the steps at which called runs failed are repeated.
    failed: bool,
    /// What no run is named after if an earlier run cannot be read any more.
    lost: Option<String>,
    /// The called runs whose results other calls of this process reuse.
    taken: Mutex<HashSet<String>>,
    /// The results that the run has reused in this process.
    decisions: Arc<Mutex<Vec<MemoDecision>>>,
}

/// What other calls of a run reuse.
struct ClaimedCalls {
    /// Called runs.
    runs: HashSet<String>,
    /// Calls, with their runs.
    calls: HashSet<(String, Key)>,
}

/// Whether a call was made in an earlier run.
pub(crate) enum CalledBefore {
    /// It was. What its run reuses.
    As(Box<ReuseRequest>),
    /// It was not.
    Never,
    /// A run before the calling one cannot be read any more. What its run would have reused.
    Perhaps(Box<ReuseRequest>),
}

/// A call of a flow.
pub(crate) struct NewCall<'c> {
    /// The calling run. Empty: it has not started.
    pub run: &'c str,
    /// The key of the call.
    pub key: &'c Key,
    /// The name of the flow.
    pub flow: &'c str,
    /// Its input.
    pub input: Option<Value>,
}

impl EarlierCalls {
    /// For a run of this program.
    pub fn for_run(memo: &Memo, basis: &Basis, prepared: &PreparedProgram) -> Self {
        let mut calls = Vec::new();
        for call in memo.tool_calls() {
            let is_gone = !prepared.has_step_of(&call.activity);
            calls.push((call, is_gone));
        }
        Self {
            runs: memo.run_ids().cloned().collect(),
            calls,
            rerun: memo.rerun_steps().map(str::to_owned).collect(),
            failed: basis.repeats_failed(),
            lost: if memo.is_cut_off() { Some(format!("{}~", basis.run)) } else { None },
            taken: Mutex::default(),
            decisions: memo.reuse_decisions(),
        }
    }

    /// The steps of the called run whose tools and commands may be repeated: all, if the call may be.
    pub fn rerun_steps(&self, call: &Key) -> Vec<String> {
        rerun_within(&self.rerun, RunPath::from_key(call))
    }

    /// What the run of a call reuses of an earlier one. The step at which that one failed is repeated if that of the calling run is.
    fn request(&self, run: String, call: &NewCall<'_>, earlier: Option<&EarlierCall>) -> Box<ReuseRequest> {
        let (mut within, mut wanted) = (Vec::new(), false);
        if let Some(earlier) = earlier {
            within.clone_from(&earlier.within);
            wanted = earlier.wanted;
        }
        let mut from = within.into_iter();
        Box::new(ReuseRequest {
            from: from.next(),
            also_from: from.collect(),
            all: wanted,
            rerun: self.rerun_steps(call.key),
            failed: self.failed,
            ..ReuseRequest::for_whole_run(run)
        })
    }

    /// The run of a call in the runs before the calling one: that with its key, or else one with its input whose step is not in the
    /// program any more. If such a step called the flow with another input, the call may still be the same one, so whatever that
    /// run did counts as done.
    pub async fn run_of(&self, call: &NewCall<'_>, store: &dyn Store) -> CalledBefore {
        let mut left = None;
        let mut claimed = None;
        for run in &self.runs {
            if let Some(found) = last_call_run(store, run, call.key).await {
                let mut calls = self.calls.iter().map(|(earlier, _)| earlier);
                let own = calls.find(|earlier| earlier.run == *run && earlier.activity.key == *call.key);
                return CalledBefore::As(self.request(found, call, own));
            }
            for (earlier, is_gone) in &self.calls {
                if !is_gone || earlier.run != *run {
                    continue;
                }
                let claimed = match &claimed {
                    Some(known) => known,
                    None => claimed.insert(self.claimed(store, call.run).await),
                };
                if claimed.calls.contains(&(run.to_string(), earlier.activity.key.clone())) {
                    continue;
                }
                let Some(found) = last_call_run(store, run, &earlier.activity.key).await else { continue };
                let Some(started) = start_entry(store, &found).await else { continue };
                if *started.program.flow != *call.flow {
                    continue;
                }
                let is_free = !claimed.runs.contains(&found);
                if is_free
                    && started.input.as_ref().map(PrivateValue::exact_value) == call.input.as_ref()
                    && self.takes(&found)
                {
                    return CalledBefore::As(self.request(found, call, Some(earlier)));
                }
                if left.is_none() && is_free && !self.has_taken(&found) {
                    left = Some(found);
                }
            }
        }
        match (left, &self.lost) {
            (Some(left), _) => {
                CalledBefore::As(Box::new(ReuseRequest { all: true, ..*self.request(left, call, None) }))
            }
            (None, Some(lost)) => {
                let rerun = self.rerun_steps(call.key);
                let lost = ReuseRequest::for_whole_run(call_run_id(lost, call.key, 0));
                CalledBefore::Perhaps(Box::new(ReuseRequest { rerun, ..lost }))
            }
            (None, None) => CalledBefore::Never,
        }
    }

    /// Takes the results of a called run, if no other call of this process has.
    fn takes(&self, run: &str) -> bool {
        lock(&self.taken).insert(run.to_owned())
    }

    fn has_taken(&self, run: &str) -> bool {
        lock(&self.taken).contains(run)
    }

    /// What the calls of a run reuse, in this process and in earlier ones.
    async fn claimed(&self, store: &dyn Store, run: &str) -> ClaimedCalls {
        let mut claimed = ClaimedCalls { runs: HashSet::new(), calls: HashSet::new() };
        for called in called_runs(store, run).await {
            if let Some(started) = start_entry(store, &called).await
                && let Some(basis) = started.basis
            {
                claimed.runs.insert(basis.run);
            }
        }
        for (_, cited) in cited_results(store, run).await {
            claimed.calls.insert(cited);
        }
        for decision in lock(&self.decisions).iter() {
            if let ReuseOutcome::Kept { run, was: Some(was), .. } = &decision.is {
                claimed.calls.insert((run.clone(), was.clone()));
            }
        }
        claimed
    }
}

/// The steps of a called run whose tools and commands may be repeated, if those of these steps, and of the steps inside them, may be
/// in the calling one.
fn rerun_within(rerun: &[String], call: RunPath<'_>) -> Vec<String> {
    let mut within = Vec::new();
    for name in rerun {
        if name == EVERY_STEP || call.find_named(name).is_some() {
            within.push(EVERY_STEP.to_owned());
        } else if let Some(inner) = call.names_inside(name).next() {
            within.push(inner.to_owned());
        }
    }
    within
}
