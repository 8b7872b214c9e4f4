//! Flows that are tools of a program: the maximum calls of their runs count for the caller of the tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_check::semantic::cost::Costs;
use trefoil_ir::{Program, StepKind, ToolCall, ToolKind, walk};
use trefoil_machine::Flags;
use trefoil_syntax::Files;

use super::{Bound, Calls};
use crate::describe;

/// A flow that is a tool.
pub struct FlowCalled {
    /// The tool.
    pub tool: Arc<str>,
    /// Its program with the models that a run would use.
    pub program: Arc<Program>,
    /// Its files.
    pub files: Files,
    /// The prices and context windows of its models, and their fallbacks.
    pub money: Flags,
}

/// The tools that a program may call and that may be flows of an engine.
pub fn tools_of(program: &Program) -> Vec<&Arc<str>> {
    let steps = walk::reachable(program, program.entry);
    let local = steps.into_iter().filter_map(|(_, id)| match &program.steps[id].kind {
        StepKind::Tool(call) if call.kind == ToolKind::Local => Some(&call.name),
        _ => None,
    });
    local.collect()
}

/// The calls caused by one call of each tool.
#[derive(Default)]
pub(super) struct CallsPerTool(BTreeMap<Arc<str>, Calls>);

impl CallsPerTool {
    /// For these flows, and those that they call in turn; each is counted with `count`.
    pub fn of<'f>(all: &'f [FlowCalled], count: impl Fn(&'f FlowCalled, &Self) -> Calls) -> Self {
        let mut known = Self::default();
        let mut left: Vec<&FlowCalled> = all.iter().collect();
        while !left.is_empty() {
            let waits =
                |one: &FlowCalled| tools_of(&one.program).iter().any(|tool| left.iter().any(|o| o.tool == **tool));
            let (waiting, ready): (Vec<_>, Vec<_>) = left.iter().copied().partition(|one| waits(one));
            for one in &ready {
                let calls = count(one, &known);
                known.0.insert(one.tool.clone(), calls);
            }
            if ready.is_empty() {
                // Flows that call themselves, and flows that call those: the number of their calls is unlimited.
                let sum = waiting.iter().fold(Calls::default(), |sum, one| sum.plus(&count(one, &known)));
                let endless = sum.times(&Bound::endless());
                known.0.extend(waiting.iter().map(|one| (one.tool.clone(), endless.clone())));
                break;
            }
            left = waiting;
        }
        known
    }

    /// The calls caused by a call of a tool.
    pub fn call(&self, call: &ToolCall) -> Calls {
        if call.kind == ToolKind::Local { self.named(&call.name) } else { Calls::default() }
    }

    /// The same by name.
    pub fn named(&self, tool: &str) -> Calls {
        self.0.get(tool).cloned().unwrap_or_default()
    }
}

/// Counts a program with these tools.
pub(super) fn costs<'p>(program: &'p Program, files: &'p Files, beneath: &'p CallsPerTool) -> Costs<'p> {
    let name = |flow, list: &_| describe::expr(files, &program.flows[flow], list);
    Costs::naming(program, name, describe::model_name).beneath(|call| beneath.call(call))
}

fn own(one: &FlowCalled, known: &CallsPerTool) -> Calls {
    costs(&one.program, &one.files, known).flow(one.program.entry)
}

/// What one call of each of these flows does at most, with those that it calls in turn.
pub fn each(all: &[FlowCalled]) -> BTreeMap<Arc<str>, Calls> {
    CallsPerTool::of(all, own).0
}

/// The maximum number of model calls of a run, including those of flows that are its tools.
pub fn model_calls(program: &Program, called: &[FlowCalled]) -> Bound {
    let beneath = CallsPerTool::of(called, own);
    Costs::new(program).beneath(|call| beneath.call(call)).flow(program.entry).model
}
