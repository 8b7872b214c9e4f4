//! The order of a graph's nodes, computed once for all runs.

use trefoil_ir::{Graph, NodeId};

/// Data computed once for a graph.
#[derive(Debug)]
pub struct GraphPlan {
    /// For each node, the nodes that wait for it, without duplicates.
    pub waiting: Vec<Vec<u32>>,
    /// For each node, the number of nodes for which it waits.
    pub waits_for: Vec<u32>,
    /// For each node, its outgoing edges: the target, and the index among the target's incoming edges.
    pub outgoing: Vec<Vec<(u32, u32)>>,
}

impl GraphPlan {
    /// Computes the data.
    pub fn of(graph: &Graph) -> Self {
        let count = graph.nodes.len();
        let mut plan =
            Self { waiting: vec![Vec::new(); count], waits_for: vec![0; count], outgoing: vec![Vec::new(); count] };
        for (at, node) in graph.nodes.iter().enumerate() {
            for (edge, incoming) in node.incoming.iter().enumerate() {
                if let Some(outgoing) = plan.outgoing.get_mut(incoming.from.index()) {
                    outgoing.push((at as u32, edge as u32));
                }
            }
            let mut before: Vec<NodeId> = node.incoming.iter().map(|e| e.from).collect();
            before.extend(node.after.iter().chain(&node.fallback_of));
            before.sort_unstable();
            before.dedup();
            for from in before {
                if let (Some(waiting), Some(count)) = (plan.waiting.get_mut(from.index()), plan.waits_for.get_mut(at)) {
                    waiting.push(at as u32);
                    *count += 1;
                }
            }
        }
        plan
    }
}
