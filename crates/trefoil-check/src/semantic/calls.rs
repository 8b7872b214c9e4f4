//! The call graph: an order in which callees come before their callers, and the flows that can call themselves. Not
//! recursive, because a folder may be one long chain.

use std::ops::Range;

use trefoil_ir::walk::called_by;
use trefoil_ir::{FlowId, Program};

/// The flows that each flow calls directly, once for each call, in the order of the manifest.
pub struct CallGraph {
    calls: Vec<FlowId>,
    of: Vec<Range<u32>>,
}

impl CallGraph {
    /// The call graph of a program.
    pub fn of(program: &Program) -> Self {
        let mut graph = Self { calls: Vec::new(), of: Vec::with_capacity(program.flows.len()) };
        for flow in 0..program.flows.len() as u32 {
            let from = graph.calls.len() as u32;
            graph.calls.extend(called_by(program, FlowId(flow)));
            graph.of.push(from..graph.calls.len() as u32);
        }
        graph
    }
    fn called_by(&self, flow: FlowId) -> &[FlowId] {
        let range = self.of.get(flow.index()).cloned().unwrap_or_default();
        self.calls.get(range.start as usize..range.end as usize).unwrap_or_default()
    }
    /// `false` for each flow.
    pub fn none(&self) -> Vec<bool> {
        vec![false; self.of.len()]
    }
    /// Flows and everything that they reach, callees before their callers. Flows in `seen`, and those that only they
    /// reach, are left out.
    pub fn callees_first(&self, roots: impl Iterator<Item = FlowId>, seen: &mut [bool]) -> Vec<FlowId> {
        let mut order = Vec::new();
        for root in roots {
            // A flow, and whether its callees are finished.
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
                stack.extend(self.called_by(flow).iter().rev().map(|callee| (*callee, false)));
            }
        }
        order
    }
    /// For each flow: whether calls lead back to it. Calls with templated names count, because the callee is known only
    /// at run time.
    pub fn recursive(&self) -> Vec<bool> {
        let mut recursive = self.none();
        let flows = || (0..self.of.len() as u32).map(FlowId);
        // A flow that comes after all its callees is not called by any of them.
        let mut place = vec![0; self.of.len()];
        for (at, flow) in self.callees_first(flows(), &mut self.none()).into_iter().enumerate() {
            if let Some(place) = place.get_mut(flow.index()) {
                *place = at;
            }
        }
        let place = |flow: FlowId| place.get(flow.index());
        if flows().all(|flow| self.called_by(flow).iter().all(|callee| place(*callee) < place(flow))) {
            return recursive;
        }
        let mut graph = petgraph::graph::DiGraph::<(), ()>::with_capacity(self.of.len(), self.calls.len());
        let nodes: Vec<_> = flows().map(|_| graph.add_node(())).collect();
        for flow in flows() {
            for callee in self.called_by(flow) {
                if let (Some(from), Some(to)) = (nodes.get(flow.index()), nodes.get(callee.index())) {
                    graph.add_edge(*from, *to, ());
                }
                if *callee == flow
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
}
