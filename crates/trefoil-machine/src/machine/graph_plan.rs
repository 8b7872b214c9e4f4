//! The order of a graph's nodes, computed once for all runs.

use trefoil_ir::{IndexVec, NodeId, StepGraph};

/// Data computed once for a graph.
#[derive(Debug)]
pub struct GraphPlan {
    /// For each node, the nodes that wait for it, without duplicates.
    pub waiting: IndexVec<NodeId, Vec<NodeId>>,
    /// For each node, the number of nodes for which it waits.
    pub waits_for: IndexVec<NodeId, u32>,
    /// For each node, its outgoing edges: the target, and the index among the target's incoming edges.
    pub outgoing: IndexVec<NodeId, Vec<(NodeId, usize)>>,
}

impl GraphPlan {
    /// Computes the data.
    pub fn from_graph(graph: &StepGraph) -> Self {
        let mut plan = Self {
            waiting: graph.nodes.iter().map(|_| Vec::new()).collect(),
            waits_for: graph.nodes.iter().map(|_| 0).collect(),
            outgoing: graph.nodes.iter().map(|_| Vec::new()).collect(),
        };
        for (at, node) in graph.nodes.entries() {
            for (edge, incoming) in node.incoming.iter().enumerate() {
                plan.outgoing[incoming.from].push((at, edge));
            }
            let mut before: Vec<NodeId> = node.incoming.iter().map(|e| e.from).collect();
            before.extend(node.after.iter().chain(&node.fallback_of));
            before.sort_unstable();
            before.dedup();
            plan.waits_for[at] = before.len() as u32;
            for from in before {
                plan.waiting[from].push(at);
            }
        }
        plan
    }
}
