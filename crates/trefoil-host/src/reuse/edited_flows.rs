//! Results of flows that were called as tools. A run of edited files reuses them only if those flows still do the same.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use trefoil_machine::Key;
use trefoil_runtime::driver::memo::{EarlierResult, LostResultReason, Memo};
use trefoil_store::Store;

use super::earlier_runs::own_results;
use crate::durable::{StoredRun, cited_results, last_call_run, start_entry};
use crate::engine::{Engine, FlowTools};
use trefoil_project::bundle::PackedFlow;
use trefoil_project::flow::Flow;

/// Drops the results of called flows that were edited since.
pub(super) async fn without_edited(memo: Memo, engine: &Engine, store: &Arc<dyn Store>) -> Memo {
    let Some(flows) = engine.flow_tools() else { return memo };
    let mut current = CurrentFlows { store, flows: &flows, same: HashMap::new(), cited: HashMap::new() };
    let mut edited = HashSet::new();
    for call in calls(&memo) {
        if !current.are_those_of(&call).await {
            edited.insert(call);
        }
    }
    let is_edited = |run: &str, key: &Key, earlier: &EarlierResult| {
        let call = PerformedCall::with_result(run, key, earlier)?;
        edited.contains(&call).then_some(LostResultReason::Edited(call.tool))
    };
    memo.without_results(is_edited)
}

/// A tool call as it was performed.
#[derive(PartialEq, Eq, Hash)]
struct PerformedCall {
    run: String,
    key: Key,
    tool: Arc<str>,
}

impl PerformedCall {
    /// The call of which an activity of a run has the result, if it is a tool call.
    fn with_result(run: &str, key: &Key, earlier: &EarlierResult) -> Option<Self> {
        let tool = earlier.tool_name()?.clone();
        Some(match &earlier.about.from {
            Some(cited) => Self { run: cited.run.clone(), key: cited.key.as_ref().unwrap_or(key).clone(), tool },
            None => Self { run: run.to_owned(), key: key.clone(), tool },
        })
    }
}

fn calls(memo: &Memo) -> Vec<PerformedCall> {
    memo.iter_results().filter_map(|(run, key, earlier)| PerformedCall::with_result(run, key, earlier)).collect()
}

/// The current flows.
struct CurrentFlows<'a> {
    store: &'a Arc<dyn Store>,
    flows: &'a FlowTools,
    /// Whether the program of a bundle and the current flow of a tool are the same.
    same: HashMap<(Arc<str>, String), bool>,
    /// Of each run, the results that it has reused: where they are from.
    cited: HashMap<String, HashMap<Key, (String, Key)>>,
}

impl CurrentFlows<'_> {
    /// Whether a call would run the same programs now: its flow's, and those of the flows that it called in turn. True for other
    /// tools. False if its run does not exist any more, because nobody knows what it did.
    async fn are_those_of(&mut self, call: &PerformedCall) -> bool {
        let Some(flow) = self.flows.flow(&call.tool) else { return true };
        let Some(run) = self.run_of(&call.run, &call.key).await else { return false };
        if !self.is_that_of(&run, &call.tool, flow).await {
            return false;
        }
        if !self.flows.are_called_by(flow) {
            return true;
        }
        let Ok(stored) = StoredRun::read_run(&**self.store, &run).await else { return true };
        let Ok(memo) = own_results(self.store.clone(), &stored).await else { return true };
        for call in calls(&memo) {
            // Boxed, because a flow may call itself.
            if !Box::pin(self.are_those_of(&call)).await {
                return false;
            }
        }
        true
    }

    /// The run of a call, which several runs may have kept one after the other.
    async fn run_of(&mut self, run: &str, key: &Key) -> Option<String> {
        let (mut run, mut key) = (run.to_owned(), key.clone());
        loop {
            if let Some(found) = last_call_run(&**self.store, &run, &key).await {
                return Some(found);
            }
            (run, key) = self.results_cited_by(&run).await.get(&key)?.clone();
        }
    }

    async fn results_cited_by(&mut self, run: &str) -> &HashMap<Key, (String, Key)> {
        if !self.cited.contains_key(run) {
            let all = cited_results(&**self.store, run).await;
            self.cited.insert(run.to_owned(), all.into_iter().collect());
        }
        self.cited.entry(run.to_owned()).or_default()
    }

    /// Whether a run has the program of a flow.
    async fn is_that_of(&mut self, run: &str, tool: &Arc<str>, flow: &Flow) -> bool {
        let Some(started) = start_entry(&**self.store, run).await else { return true };
        let known = (tool.clone(), started.program.bundle.unwrap_or_default());
        if let Some(same) = self.same.get(&known) {
            return *same;
        }
        let same = PackedFlow::of_loaded(flow.loaded_target()).bundle == known.1
            || match StoredRun::read_run(&**self.store, run).await {
                // Comments and layout may differ.
                Ok(before) => {
                    before.flow.loaded_target().program.fingerprint() == flow.loaded_target().program.fingerprint()
                }
                Err(_) => true,
            };
        self.same.insert(known, same);
        same
    }
}
