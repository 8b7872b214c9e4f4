//! Which flow calls which: an order in which each comes after those that it calls, and the flows that can call themselves.
//! Never recurses: a folder may be one long chain.

use trefoil_ir::walk::called_by;
use trefoil_ir::{FlowId, Program};

/// Flows and all that they lead to, those that a flow calls before it. Those that are `seen` are left out, with what only
/// they lead to.
pub fn callees_first(program: &Program, roots: impl Iterator<Item = FlowId>, seen: &mut [bool]) -> Vec<FlowId> {
    let mut order = Vec::new();
    for root in roots {
        // A flow, and whether what it calls is done.
        let mut stack = vec![(root, false)];
        while let Some((flow, done)) = stack.pop() {
            if done {
                order.push(flow);
                continue;
            }
            match seen.get_mut(flow.index()) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            stack.push((flow, true));
            stack.extend(called_by(program, flow).into_iter().rev().map(|callee| (callee, false)));
        }
    }
    order
}

/// By flow: whether calls lead back to it. By name they can: only the run knows whom a templated name means.
pub fn recursive(program: &Program) -> Vec<bool> {
    let flows = || (0..program.flows.len() as u32).map(FlowId);
    let mut graph = petgraph::graph::DiGraph::<(), ()>::with_capacity(program.flows.len(), program.flows.len());
    let nodes: Vec<_> = flows().map(|_| graph.add_node(())).collect();
    let mut recursive = vec![false; program.flows.len()];
    for flow in flows() {
        for callee in called_by(program, flow) {
            if let (Some(from), Some(to)) = (nodes.get(flow.index()), nodes.get(callee.index())) {
                graph.add_edge(*from, *to, ());
            }
            if callee == flow
                && let Some(place) = recursive.get_mut(flow.index())
            {
                *place = true;
            }
        }
    }
    for ring in petgraph::algo::kosaraju_scc(&graph).into_iter().filter(|ring| ring.len() > 1) {
        for node in ring {
            if let Some(place) = recursive.get_mut(node.index()) {
                *place = true;
            }
        }
    }
    recursive
}
