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
    let mut within = |id: StepId| visit(program, (id, flow), found);
    match step.kind.step_info().inside {
        StepContents::InOrder(steps) => steps.iter().copied().for_each(within),
        StepContents::SideBySide(it) if it.on_failure == OnItemFailure::Abort => {
            it.branches.iter().copied().for_each(within)
        }
        StepContents::Repeated { body, .. } => within(body),
        StepContents::Graph(graph) => nodes(graph).into_iter().for_each(within),
        StepContents::StateMachine(machine) => states(machine).into_iter().for_each(within),
        StepContents::Call(FlowCallee::Flow(flow)) => enter(program, *flow, found),
        // Nothing, or nothing that is certain.
        _ => {}
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
    let all = graph.nodes.iter().zip(certain);
    all.filter(|(node, certain)| *certain && node.fallback.is_none()).map(|(node, _)| node.step).collect()
}

/// The states to which transitions without a condition lead.
fn states(machine: &StateMachine) -> Vec<StepId> {
    let mut found = Vec::new();
    let mut next = Some(machine.initial);
    for _ in 0..machine.states.len() {
        let Some(state) = next.map(|id| &machine.states[id]) else { break };
        if !state.transitions.iter().any(|transition| transition.takes != MatchedOutcome::Success) {
            found.push(state.step);
        }
        let first = state.transitions.first().filter(|_| state.fails_when.is_none());
        next = first
            .filter(|first| first.takes != MatchedOutcome::Failure && first.when.is_none())
            .map(|first| first.target);
    }
    found
}
