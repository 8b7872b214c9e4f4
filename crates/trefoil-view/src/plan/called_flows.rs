//! Flows that are tools of a program: the maximum calls of their runs count for the caller of the tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_check::semantic::cost::CallCounter;
use trefoil_ir::{Program, StepKind, ToolCall, ToolKind, walk};
use trefoil_machine::Flags;
use trefoil_syntax::SourceFiles;

use super::{CallBound, CallBounds};
use crate::descriptions;

/// A flow that is a tool.
pub struct CalledFlow {
    /// The tool.
    pub tool: Arc<str>,
    /// Its program with the models that a run would use.
    pub program: Arc<Program>,
    /// Its files.
    pub files: SourceFiles,
    /// The prices and context windows of its models, and their fallbacks.
    pub money: Flags,
}

/// The tools that a program may call and that may be flows of an engine.
pub fn tools_of(program: &Program) -> Vec<&Arc<str>> {
    let mut tools = Vec::new();
    for (_, id) in walk::reachable_steps(program, program.entry) {
        if let StepKind::Tool(call) = &program.steps[id].kind
            && call.kind == ToolKind::Local
        {
            tools.push(&call.name);
        }
    }
    tools
}

/// The calls caused by one call of each tool.
#[derive(Default)]
pub(super) struct CallsPerTool(BTreeMap<Arc<str>, CallBounds>);

impl CallsPerTool {
    /// For these flows, and those that they call in turn; each is counted with `count`.
    pub fn from_flows<'f>(all: &'f [CalledFlow], count: impl Fn(&'f CalledFlow, &Self) -> CallBounds) -> Self {
        let mut known = Self::default();
        let mut left: Vec<&CalledFlow> = all.iter().collect();
        while !left.is_empty() {
            let (mut waiting, mut ready) = (Vec::new(), Vec::new());
            for flow in &left {
                let waits = tools_of(&flow.program).iter().any(|tool| left.iter().any(|other| other.tool == **tool));
                if waits { waiting.push(*flow) } else { ready.push(*flow) }
            }
            for flow in &ready {
                let calls = count(flow, &known);
                known.0.insert(flow.tool.clone(), calls);
            }
            if ready.is_empty() {
                // Flows that call themselves, and flows that call those: the number of their calls is unlimited.
                let mut sum = CallBounds::default();
                for flow in &waiting {
                    sum = sum.sum_with(&count(flow, &known));
                }
                let endless = sum.multiply_by(&CallBound::without_limit());
                for flow in waiting {
                    known.0.insert(flow.tool.clone(), endless.clone());
                }
                break;
            }
            left = waiting;
        }
        known
    }

    /// The calls caused by a call of a tool.
    pub fn calls_for(&self, call: &ToolCall) -> CallBounds {
        if call.kind == ToolKind::Local { self.calls_of_tool(&call.name) } else { CallBounds::default() }
    }

    /// The same by name.
    pub fn calls_of_tool(&self, tool: &str) -> CallBounds {
        self.0.get(tool).cloned().unwrap_or_default()
    }
}

/// Counts a program with these tools.
pub(super) fn program_costs<'p>(
    program: &'p Program,
    files: &'p SourceFiles,
    beneath: &'p CallsPerTool,
) -> CallCounter<'p> {
    let name = |flow, list: &_| descriptions::render_expr(files, &program.flows[flow], list);
    CallCounter::with_names(program, name, descriptions::model_name).with_tool_calls(|call| beneath.calls_for(call))
}

fn own(one: &CalledFlow, known: &CallsPerTool) -> CallBounds {
    program_costs(&one.program, &one.files, known).count_flow(one.program.entry)
}

/// What one call of each of these flows does at most, with those that it calls in turn.
pub fn calls_per_flow(all: &[CalledFlow]) -> BTreeMap<Arc<str>, CallBounds> {
    CallsPerTool::from_flows(all, own).0
}

/// The maximum number of model calls of a run, including those of flows that are its tools.
pub fn model_calls(program: &Program, called: &[CalledFlow]) -> CallBound {
    let beneath = CallsPerTool::from_flows(called, own);
    CallCounter::new(program).with_tool_calls(|call| beneath.calls_for(call)).count_flow(program.entry).model
}
