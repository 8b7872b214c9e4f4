//! How two nodes of a graph run in one run: never both, one after the other, at the same time, or either. Rules about
//! values that two nodes write ask here.
//!
//! `apart.rs` proves by the form of conditions that steps never run in one run, for any number of them; `together.rs`
//! proves by trying values that nodes do. What neither proves is not known.

pub mod apart;
pub mod overlap;
mod together;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use trefoil_ir::{Graph, GraphNode, IndexVec, NodeId};
use trefoil_syntax::hash::HashSet;

use apart::Apart;
use together::Together;

use super::slots::Slots;

/// How two nodes run in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meeting {
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
pub struct Meetings<'g> {
    graph: &'g Graph,
    order: Order,
    together: OnceCell<Option<Together<'g>>>,
    apart: OnceCell<Option<Apart>>,
}

impl<'g> Meetings<'g> {
    /// For a graph.
    pub fn of(graph: &'g Graph) -> Self {
        Self { graph, order: Order::of(graph), together: OnceCell::new(), apart: OnceCell::new() }
    }

    /// How two nodes meet.
    pub fn of_pair(&self, first: NodeId, second: NodeId) -> Meeting {
        if let Some(ordered) = self.ordered(first, second) {
            return ordered;
        }
        if self.both_run(first, second) {
            return Meeting::AtOnce;
        }
        let together = self.together.get_or_init(|| Together::of(self.graph)).as_ref();
        if let Some(values) = together.and_then(|together| together.both(first, second)) {
            return Meeting::With(values);
        }
        let apart = self.apart.get_or_init(|| Apart::of_graph(self.graph)).as_ref();
        if apart.is_some_and(|apart| apart.never_both(first.index(), second.index())) {
            Meeting::Never
        } else {
            Meeting::Either
        }
    }

    /// The same, if one waits for the other.
    pub fn ordered(&self, first: NodeId, second: NodeId) -> Option<Meeting> {
        if self.order.precedes(first, second) {
            return Some(Meeting::InOrder { follows: always_follows(self.graph, first, second) });
        }
        self.order.precedes(second, first).then_some(Meeting::InReverse)
    }

    /// Whether some node, or the start, leads to both whenever it runs.
    fn both_run(&self, a: NodeId, b: NodeId) -> bool {
        let from = |start: Option<NodeId>| {
            let runs = running(self.graph, &|id, node, is| {
                let starts = start.map_or(node.incoming.is_empty(), |start| start == id);
                let led = || node.incoming.iter().any(|edge| edge.when.is_none() && is(edge.from));
                start == Some(id) || node.fallback_of.is_empty() && (starts || led())
            });
            runs[a] && runs[b]
        };
        let common = |n: &NodeId| self.order.precedes(*n, a) && self.order.precedes(*n, b);
        from(None) || self.graph.nodes.ids().filter(common).any(|n| from(Some(n)))
    }
}

/// Whether a node runs in every run after another node has run.
fn always_follows(graph: &Graph, first: NodeId, second: NodeId) -> bool {
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
type Starts<'s> = dyn Fn(NodeId, &GraphNode, &dyn Fn(NodeId) -> bool) -> bool + 's;

/// The nodes that run because of those before them.
pub fn running(graph: &Graph, starts: &Starts<'_>) -> IndexVec<NodeId, bool> {
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
pub struct Order {
    /// For each node: the nodes before it.
    before: IndexVec<NodeId, Slots>,
}

impl Order {
    /// The order of a graph's nodes.
    pub fn of(graph: &Graph) -> Self {
        let nothing = Slots::new(graph.nodes.len(), false);
        let mut before = graph.nodes.map(|_| nothing.clone());
        let order = in_order(graph);
        // Only in circles, which a draft may have, does a second pass find something new.
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &id in &order {
                let mut all = nothing.clone();
                for from in predecessors(&graph.nodes[id]) {
                    all.add(from.index());
                    all.unite(&before[from]);
                }
                changed |= before[id] != all;
                before[id] = all;
            }
        }
        Self { before }
    }
    /// Whether node `a` ends before node `b` starts.
    pub fn precedes(&self, a: NodeId, b: NodeId) -> bool {
        self.before[b].has(a.index())
    }
}

/// The nodes that a node waits for itself.
pub fn predecessors(node: &GraphNode) -> impl Iterator<Item = NodeId> {
    let edges = node.incoming.iter().map(|edge| edge.from);
    edges.chain(node.after.iter().chain(&node.fallback_of).copied())
}

/// The nodes in topological order, with ties in declaration order. Those that wait for themselves, in a draft, come last.
pub fn in_order(graph: &Graph) -> Vec<NodeId> {
    let mut order = outside_circles(graph);
    if order.len() < graph.nodes.len() {
        let placed: BTreeSet<NodeId> = order.iter().copied().collect();
        order.extend(graph.nodes.ids().filter(|id| !placed.contains(id)));
    }
    order
}

/// The nodes that do not wait for themselves, in topological order, with ties in declaration order.
pub fn outside_circles(graph: &Graph) -> Vec<NodeId> {
    let mut waits = graph.nodes.map(|node| predecessors(node).count());
    let mut next: IndexVec<NodeId, Vec<NodeId>> = graph.nodes.map(|_| Vec::new());
    for (id, node) in graph.nodes.entries() {
        predecessors(node).for_each(|from| next[from].push(id));
    }
    let mut ready: BTreeSet<NodeId> = waits.ids().filter(|id| waits[*id] == 0).collect();
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
