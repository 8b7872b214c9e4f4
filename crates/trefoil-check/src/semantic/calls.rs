//! The call graph: an order in which callees come before their callers, and the flows that can call themselves. Not
//! recursive, because a folder may be one long chain.

use std::ops::Range;

use trefoil_ir::walk::called_by;
use trefoil_ir::{FlowId, IndexVec, Program, TypedIndex};

/// The flows that each flow calls directly, once for each call, in the order of the manifest.
pub struct CallGraph {
    calls: Vec<FlowId>,
    of: IndexVec<FlowId, Range<u32>>,
}

impl CallGraph {
    /// The call graph of a program.
    pub fn from_program(program: &Program) -> Self {
        let mut calls = Vec::new();
        let mut of = IndexVec::default();
        for flow in program.flows.element_ids() {
            let from = calls.len() as u32;
            calls.extend(called_by(program, flow));
            of.push(from..calls.len() as u32);
        }
        Self { calls, of }
    }
    fn called_by(&self, flow: FlowId) -> &[FlowId] {
        let range = &self.of[flow];
        self.calls.get(range.start as usize..range.end as usize).unwrap_or_default()
    }
    /// `false` for each flow.
    pub fn unmarked_flows(&self) -> IndexVec<FlowId, bool> {
        self.of.map(|_| false)
    }
    /// Flows and everything that they reach, callees before their callers. Flows in `seen`, and those that only they
    /// reach, are left out.
    pub fn callees_first(&self, roots: impl Iterator<Item = FlowId>, seen: &mut IndexVec<FlowId, bool>) -> Vec<FlowId> {
        let mut order = Vec::new();
        for root in roots {
            // A flow, and whether its callees are finished.
            let mut stack = vec![(root, false)];
            while let Some((flow, done)) = stack.pop() {
                if done {
                    order.push(flow);
                } else if !std::mem::replace(&mut seen[flow], true) {
                    stack.push((flow, true));
                    for callee in self.called_by(flow).iter().rev() {
                        stack.push((*callee, false));
                    }
                }
            }
        }
        order
    }
    /// For each flow: whether calls lead back to it. Calls with templated names count, because the callee is known only
    /// at run time.
    pub fn recursive_flows(&self) -> IndexVec<FlowId, bool> {
        let mut recursive = self.unmarked_flows();
        // A flow that comes after all its callees is not called by any of them.
        let mut place = self.of.map(|_| 0);
        for (at, flow) in self.callees_first(self.of.element_ids(), &mut self.unmarked_flows()).into_iter().enumerate()
        {
            place[flow] = at;
        }
        let calls_only_earlier = |flow: FlowId| self.called_by(flow).iter().all(|callee| place[*callee] < place[flow]);
        if self.of.element_ids().all(calls_only_earlier) {
            return recursive;
        }
        let mut graph = petgraph::graph::DiGraph::<(), ()>::with_capacity(self.of.len(), self.calls.len());
        let nodes = self.of.map(|_| graph.add_node(()));
        for flow in self.of.element_ids() {
            for callee in self.called_by(flow) {
                graph.add_edge(nodes[flow], nodes[*callee], ());
                recursive[flow] |= *callee == flow;
            }
        }
        for ring in petgraph::algo::kosaraju_scc(&graph) {
            if ring.len() > 1 {
                for node in ring {
                    recursive[FlowId::from_index(node.index())] = true;
                }
            }
        }
        recursive
    }
}
