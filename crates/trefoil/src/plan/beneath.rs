//! Flows that are tools of a program: what their runs do at most counts for whoever calls the tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_check::semantic::cost::Costs;
use trefoil_ir::{Program, StepKind, ToolCall, ToolKind, walk};
use trefoil_machine::Flags;
use trefoil_syntax::Files;

use super::{Bound, Calls};
use crate::describe;

/// A flow that is a tool, as its run would be.
#[doc(hidden)]
pub struct FlowCalled {
    /// The tool.
    pub tool: Arc<str>,
    /// What a run of it does, with the models that it would ask.
    pub program: Arc<Program>,
    /// Its files.
    pub files: Files,
    /// The prices and context windows of its models, and those that may answer instead.
    pub money: Flags,
}

/// The tools that a program may call and an engine's flows may be.
pub(crate) fn tools_of(program: &Program) -> Vec<&Arc<str>> {
    let steps = walk::reachable(program, program.entry);
    let local = steps.into_iter().filter_map(|(_, id)| match &program.step(id)?.kind {
        StepKind::Tool(call) if call.kind == ToolKind::Local => Some(&call.name),
        _ => None,
    });
    local.collect()
}

/// What one call of each tool does.
#[derive(Default)]
pub(super) struct Beneath(BTreeMap<Arc<str>, Calls>);

impl Beneath {
    /// Of these flows, and of those that they call in turn; each counted as `count` does.
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
                // Flows that call themselves, and flows that call those: of what they do there may be any number.
                let sum = waiting.iter().fold(Calls::default(), |sum, one| sum.plus(&count(one, &known)));
                let endless = sum.times(&Bound::endless());
                known.0.extend(waiting.iter().map(|one| (one.tool.clone(), endless.clone())));
                break;
            }
            left = waiting;
        }
        known
    }

    /// What a call does.
    pub fn call(&self, call: &ToolCall) -> Calls {
        if call.kind == ToolKind::Local { self.named(&call.name) } else { Calls::default() }
    }

    /// The same by name.
    pub fn named(&self, tool: &str) -> Calls {
        self.0.get(tool).cloned().unwrap_or_default()
    }
}

/// Counts a program whose tools do this.
pub(super) fn costs<'p>(program: &'p Program, files: &'p Files, beneath: &'p Beneath) -> Costs<'p> {
    let name = |flow, list: &_| describe::expr(files, program.flow(flow), list);
    Costs::naming(program, name, describe::model).beneath(|call| beneath.call(call))
}

/// The model calls of a run at most, with those of the flows that are its tools.
pub(crate) fn model_calls(program: &Program, called: &[FlowCalled]) -> Bound {
    let own = |one: &FlowCalled, known: &Beneath| costs(&one.program, &one.files, known).flow(one.program.entry);
    let beneath = Beneath::of(called, own);
    Costs::new(program).beneath(|call| beneath.call(call)).flow(program.entry).model
}
