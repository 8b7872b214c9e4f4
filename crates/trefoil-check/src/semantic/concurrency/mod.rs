//! How two nodes of a graph run in one run: never both, one after the other, at the same time, or either. Rules about
//! values that two nodes write ask here.
//!
//! `exclusive_steps.rs` proves by the form of conditions that steps never run in one run, for any number of them; `joint_runs.rs`
//! proves by trying values that nodes do. What neither proves is not known.

pub mod exclusive_steps;
mod joint_runs;
pub mod overlap;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use trefoil_ir::{GraphNode, IndexVec, NodeId, StepGraph};
use trefoil_syntax::hash::HashSet;

use exclusive_steps::StepExclusions;
use joint_runs::JointRunSets;

use super::slots::SlotSet;

/// How two nodes run in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeConcurrency {
    /// Never both.
    Never,
    /// The first one ends before the second one starts.
    InOrder {
        /// Whether the second one runs in every run in which the first one has.
        follows: bool,
    },
    /// The same with the second one before the first one.
    InReverse,
    /// At the same time, in every run that gets there.
    AtOnce,
    /// At the same time, in a run with these values.
    With(String),
    /// Nothing orders them, but whether both run in one run is not known.
    Either,
}

/// The meetings of the nodes of a graph.
pub struct GraphConcurrency<'g> {
    graph: &'g StepGraph,
    order: NodeOrder,
    together: OnceCell<Option<JointRunSets<'g>>>,
    apart: OnceCell<Option<StepExclusions>>,
}

impl<'g> GraphConcurrency<'g> {
    /// For a graph.
    pub fn for_graph(graph: &'g StepGraph) -> Self {
        Self { graph, order: NodeOrder::from_graph(graph), together: OnceCell::new(), apart: OnceCell::new() }
    }

    /// How two nodes meet.
    pub fn relation_of_pair(&self, first: NodeId, second: NodeId) -> NodeConcurrency {
        if let Some(ordered) = self.order_of_pair(first, second) {
            return ordered;
        }
        if self.both_run(first, second) {
            return NodeConcurrency::AtOnce;
        }
        let together = self.together.get_or_init(|| JointRunSets::for_graph(self.graph));
        if let Some(together) = together
            && let Some(values) = together.values_for_both(first, second)
        {
            return NodeConcurrency::With(values);
        }
        match self.apart.get_or_init(|| StepExclusions::of_graph(self.graph)) {
            Some(apart) if apart.never_both(first.index(), second.index()) => NodeConcurrency::Never,
            _ => NodeConcurrency::Either,
        }
    }

    /// The same, if one waits for the other.
    pub fn order_of_pair(&self, first: NodeId, second: NodeId) -> Option<NodeConcurrency> {
        if self.order.is_before(first, second) {
            return Some(NodeConcurrency::InOrder { follows: always_follows(self.graph, first, second) });
        }
        if self.order.is_before(second, first) { Some(NodeConcurrency::InReverse) } else { None }
    }

    /// Whether some node, or the start, leads to both whenever it runs.
    fn both_run(&self, a: NodeId, b: NodeId) -> bool {
        if self.leads_to_both(None, a, b) {
            return true;
        }
        for node in self.graph.nodes.element_ids() {
            let is_before_both = self.order.is_before(node, a) && self.order.is_before(node, b);
            if is_before_both && self.leads_to_both(Some(node), a, b) {
                return true;
            }
        }
        false
    }

    /// Whether both run whenever this node does; without a node: in every run.
    fn leads_to_both(&self, start: Option<NodeId>, a: NodeId, b: NodeId) -> bool {
        let runs = find_running_nodes(self.graph, &|id, node, runs| {
            if start == Some(id) {
                return true;
            }
            let is_first = start.is_none() && node.incoming.is_empty();
            let is_led_to = || node.incoming.iter().any(|edge| edge.when.is_none() && runs(edge.from));
            node.fallback_of.is_empty() && (is_first || is_led_to())
        });
        runs[a] && runs[b]
    }
}

/// Whether a node runs in every run after another node has run.
fn always_follows(graph: &StepGraph, first: NodeId, second: NodeId) -> bool {
    let mut stack = vec![second];
    let mut seen = HashSet::default();
    while let Some(id) = stack.pop() {
        if id == first || !seen.insert(id) {
            continue;
        }
        let node = &graph.nodes[id];
        if !node.fallback_of.is_empty() || node.incoming.iter().any(|edge| edge.when.is_some()) {
            return false;
        }
        stack.extend(node.incoming.iter().map(|edge| edge.from));
    }
    graph.nodes[first].fallback_of.is_empty()
}

/// Whether a node runs, given whether others do.
type NodeStartTest<'s> = dyn Fn(NodeId, &GraphNode, &dyn Fn(NodeId) -> bool) -> bool + 's;

/// The nodes that run because of those before them.
pub fn find_running_nodes(graph: &StepGraph, starts: &NodeStartTest<'_>) -> IndexVec<NodeId, bool> {
    let mut runs = graph.nodes.map(|_| false);
    // A graph has no cycles, so this terminates, usually after one pass over the nodes in order.
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (id, node) in graph.nodes.entries() {
            if !runs[id] && starts(id, node, &|other| runs[other]) {
                (runs[id], changed) = (true, true);
            }
        }
    }
    runs
}

/// Which nodes of a graph end before which others start.
pub struct NodeOrder {
    /// For each node: the nodes before it.
    before: IndexVec<NodeId, SlotSet>,
}

impl NodeOrder {
    /// The order of a graph's nodes.
    pub fn from_graph(graph: &StepGraph) -> Self {
        let nothing = SlotSet::new(graph.nodes.len(), false);
        let mut before = graph.nodes.map(|_| nothing.clone());
        let order = in_order(graph);
        // Only in circles, which a draft may have, does a second pass find something new.
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &id in &order {
                let mut all = nothing.clone();
                for from in predecessors_of(&graph.nodes[id]) {
                    all.add_slot(from.index());
                    all.union_with(&before[from]);
                }
                changed |= before[id] != all;
                before[id] = all;
            }
        }
        Self { before }
    }
    /// Whether node `a` ends before node `b` starts.
    pub fn is_before(&self, a: NodeId, b: NodeId) -> bool {
        self.before[b].has_slot(a.index())
    }
}

/// The index of an element, which is added if it is new.
fn index_or_add<T: PartialEq>(elements: &mut Vec<T>, element: T) -> usize {
    if let Some(known) = elements.iter().position(|known| *known == element) {
        return known;
    }
    elements.push(element);
    elements.len() - 1
}

/// The nodes that a node waits for itself.
pub fn predecessors_of(node: &GraphNode) -> impl Iterator<Item = NodeId> {
    let edges = node.incoming.iter().map(|edge| edge.from);
    edges.chain(node.after.iter().chain(&node.fallback_of).copied())
}

/// The nodes in topological order, with ties in declaration order. Those that wait for themselves, in a draft, come last.
pub fn in_order(graph: &StepGraph) -> Vec<NodeId> {
    let mut order = outside_circles(graph);
    if order.len() < graph.nodes.len() {
        let placed: BTreeSet<NodeId> = order.iter().copied().collect();
        for id in graph.nodes.element_ids() {
            if !placed.contains(&id) {
                order.push(id);
            }
        }
    }
    order
}

/// The nodes that do not wait for themselves, in topological order, with ties in declaration order.
pub fn outside_circles(graph: &StepGraph) -> Vec<NodeId> {
    let mut waits = graph.nodes.map(|node| predecessors_of(node).count());
    let mut next: IndexVec<NodeId, Vec<NodeId>> = graph.nodes.map(|_| Vec::new());
    for (id, node) in graph.nodes.entries() {
        for from in predecessors_of(node) {
            next[from].push(id);
        }
    }
    let mut ready = BTreeSet::new();
    for (id, count) in waits.entries() {
        if *count == 0 {
            ready.insert(id);
        }
    }
    let mut order = Vec::with_capacity(graph.nodes.len());
    while let Some(id) = ready.pop_first() {
        order.push(id);
        for &then in &next[id] {
            waits[then] -= 1;
            if waits[then] == 0 {
                ready.insert(then);
            }
        }
    }
    order
}
