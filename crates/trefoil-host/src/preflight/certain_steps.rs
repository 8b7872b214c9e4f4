//! The steps that every run comes to, unless one before them fails, and without which it fails.

use std::collections::BTreeSet;

use trefoil_ir::{
    FlowCallee, FlowId, IndexVec, MatchedOutcome, NodeId, OnItemFailure, OnStepFailure, Program, StateMachine, Step,
    StepContents, StepGraph, StepId,
};

/// These steps of a program with their flows, in the order in which they are declared.
pub fn certain_steps(program: &Program) -> Vec<(FlowId, &Step)> {
    let mut found = BTreeSet::new();
    enter(program, program.entry, &mut found);
    found.into_iter().map(|(id, flow)| (flow, &program.steps[id])).collect()
}

fn enter(program: &Program, flow: FlowId, found: &mut BTreeSet<(StepId, FlowId)>) {
    visit(program, (program.flows[flow].body, flow), found);
}

fn visit(program: &Program, (id, flow): (StepId, FlowId), found: &mut BTreeSet<(StepId, FlowId)>) {
    let step = &program.steps[id];
    if step.when.is_some() || !matches!(step.policy.on_failure, OnStepFailure::Fail) || !found.insert((id, flow)) {
        return;
    }
    let inside = match step.kind.step_info().inside {
        StepContents::InOrder(steps) => steps.to_vec(),
        StepContents::SideBySide(parallel) if parallel.on_failure == OnItemFailure::Abort => parallel.branches.to_vec(),
        StepContents::Repeated { body, .. } => vec![body],
        StepContents::Graph(graph) => nodes(graph),
        StepContents::StateMachine(machine) => states(machine),
        StepContents::Call(FlowCallee::Flow(flow)) => return enter(program, *flow, found),
        // Nothing, or nothing that is certain.
        _ => return,
    };
    for id in inside {
        visit(program, (id, flow), found);
    }
}

/// The nodes to which edges without a condition lead.
fn nodes(graph: &StepGraph) -> Vec<StepId> {
    let mut certain: IndexVec<NodeId, bool> = graph.nodes.iter().map(|_| false).collect();
    // A node may be declared before those that lead to it.
    for _ in 0..graph.nodes.len() {
        let before = certain.clone();
        for (id, node) in graph.nodes.entries() {
            let runs =
                node.incoming.is_empty() || node.incoming.iter().any(|edge| edge.when.is_none() && before[edge.from]);
            certain[id] |= runs && node.fallback_of.is_empty();
        }
        if certain == before {
            break;
        }
    }
    let mut steps = Vec::new();
    for (id, node) in graph.nodes.entries() {
        if certain[id] && node.fallback.is_none() {
            steps.push(node.step);
        }
    }
    steps
}

/// The states to which transitions without a condition lead.
fn states(machine: &StateMachine) -> Vec<StepId> {
    let mut found = Vec::new();
    let mut next = machine.initial;
    for _ in 0..machine.states.len() {
        let state = &machine.states[next];
        if !state.transitions.iter().any(|transition| transition.takes != MatchedOutcome::Success) {
            found.push(state.step);
        }
        match state.transitions.first() {
            Some(first)
                if state.fails_when.is_none() && first.takes != MatchedOutcome::Failure && first.when.is_none() =>
            {
                next = first.target;
            }
            _ => break,
        }
    }
    found
}
