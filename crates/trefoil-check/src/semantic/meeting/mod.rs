//! How two nodes of a graph run in one run: never both, one after the other, at the same time, or either. Rules about
//! values that two nodes write ask here.
//!
//! `apart.rs` proves by the form of conditions that steps never run in one run, for any number of them; `together.rs`
//! proves by trying values that nodes do. What neither proves is not known.

pub mod apart;
pub mod overlap;
mod together;

use std::cell::OnceCell;

use trefoil_ir::{Graph, GraphNode, NodeId};
use trefoil_syntax::hash::HashSet;

use apart::Apart;
use together::Together;

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
    pub fn of_pair(&self, first: usize, second: usize) -> Meeting {
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
        if apart.is_some_and(|apart| apart.never_both(first, second)) { Meeting::Never } else { Meeting::Either }
    }

    /// The same, if one waits for the other.
    pub fn ordered(&self, first: usize, second: usize) -> Option<Meeting> {
        if self.order.precedes(first, second) {
            return Some(Meeting::InOrder { follows: always_follows(self.graph, first, second) });
        }
        self.order.precedes(second, first).then_some(Meeting::InReverse)
    }

    /// Whether some node, or the start, leads to both whenever it runs.
    fn both_run(&self, a: usize, b: usize) -> bool {
        let from = |start: Option<usize>| {
            let runs = running(self.graph, &|at, node, is| {
                let starts = start.map_or(node.incoming.is_empty(), |start| start == at);
                let led = || node.incoming.iter().any(|edge| edge.when.is_none() && is(edge.from));
                start == Some(at) || node.fallback_of.is_empty() && (starts || led())
            });
            runs.get(a) == Some(&true) && runs.get(b) == Some(&true)
        };
        let common = |n: &usize| self.order.precedes(*n, a) && self.order.precedes(*n, b);
        from(None) || (0..self.graph.nodes.len()).filter(common).any(|n| from(Some(n)))
    }
}

/// Whether a node runs in every run after another node has run.
fn always_follows(graph: &Graph, first: usize, second: usize) -> bool {
    let mut stack = vec![second];
    let mut seen = HashSet::default();
    while let Some(at) = stack.pop() {
        if at == first || !seen.insert(at) {
            continue;
        }
        let Some(node) = graph.nodes.get(at) else { return false };
        if !node.fallback_of.is_empty() || node.incoming.iter().any(|edge| edge.when.is_some()) {
            return false;
        }
        stack.extend(node.incoming.iter().map(|edge| edge.from.index()));
    }
    graph.nodes.get(first).is_some_and(|node| node.fallback_of.is_empty())
}

/// Whether a node runs, given whether others do.
type Starts<'s> = dyn Fn(usize, &GraphNode, &dyn Fn(NodeId) -> bool) -> bool + 's;

/// The nodes that run because of those before them.
pub fn running(graph: &Graph, starts: &Starts<'_>) -> Vec<bool> {
    let mut runs = vec![false; graph.nodes.len()];
    // A graph has no cycles, so this terminates, usually after one pass over the nodes in order.
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (at, node) in graph.nodes.iter().enumerate() {
            let is = |other: NodeId| runs.get(other.index()) == Some(&true);
            let now = runs.get(at) == Some(&false) && starts(at, node, &is);
            if let Some(place) = runs.get_mut(at).filter(|_| now) {
                (*place, changed) = (true, true);
            }
        }
    }
    runs
}

/// Which nodes of a graph end before which others start.
pub struct Order {
    words: usize,
    /// For each node: the nodes before it, as bits.
    before: Vec<u64>,
}

impl Order {
    /// The order of a graph's nodes.
    pub fn of(graph: &Graph) -> Self {
        let count = graph.nodes.len();
        let words = count.div_ceil(64);
        let mut order = Self { words, before: vec![0; words * count] };
        let direct: Vec<Vec<usize>> = graph
            .nodes
            .iter()
            .map(|node| {
                let before = node.incoming.iter().map(|e| e.from).chain(node.after.iter().copied());
                before.chain(node.fallback_of.iter().copied()).map(NodeId::index).filter(|n| *n < count).collect()
            })
            .collect();
        // Nodes are usually in topological order, so the second pass finds nothing new.
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (at, direct) in direct.iter().enumerate() {
                for &from in direct {
                    changed |= order.add(at, from);
                }
            }
        }
        order
    }
    /// Whether node `a` ends before node `b` starts.
    pub fn precedes(&self, a: usize, b: usize) -> bool {
        self.before.get(b * self.words + a / 64).is_some_and(|word| word & (1 << (a % 64)) != 0)
    }
    /// Records that `from`, and everything before it, is before `at`.
    fn add(&mut self, at: usize, from: usize) -> bool {
        let mut changed = false;
        for word in 0..self.words {
            let mut bits = self.before.get(from * self.words + word).copied().unwrap_or(0);
            if word == from / 64 {
                bits |= 1 << (from % 64);
            }
            if let Some(place) = self.before.get_mut(at * self.words + word) {
                changed |= *place | bits != *place;
                *place |= bits;
            }
        }
        changed
    }
}
