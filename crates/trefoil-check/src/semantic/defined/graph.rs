//! Graphs: which nodes have certainly run and succeeded before each node.
//!
//! A node with edges runs if one of them is taken, so the nodes that certainly ran before all of their sources have
//! run; so has everything that must follow from those. A node that may fail without failing the run (because of a
//! fallback or a skip policy) does not certainly have a result.

use trefoil_ir::{Graph, GraphNode, IndexVec, NodeId, OnFailure, StepId, TypedIndex};

use super::Walk;
use crate::semantic::meeting::{in_order, predecessors};
use crate::semantic::reads::Why;
use crate::semantic::slots::{Slots, State};

/// What is known about the nodes visited so far.
struct Nodes {
    /// For each node: the nodes that have certainly succeeded when it runs.
    sure: IndexVec<NodeId, Slots>,
    /// For each node: all nodes ordered before it.
    past: IndexVec<NodeId, Slots>,
    /// For each node: what is set after it has run.
    after: IndexVec<NodeId, State>,
    /// For each node: what is certainly set on each path to it.
    ways: IndexVec<NodeId, Vec<Slots>>,
}

/// The maximum number of paths that are distinguished.
const WAYS: usize = 16;

impl<'p> Walk<'_, 'p> {
    /// What is set when the graph has ended.
    pub(super) fn graph(&mut self, step: StepId, graph: &'p Graph, before: &State) -> State {
        let n = graph.nodes.len();
        let (nothing, after) = (Slots::new(n, false), State::nothing(self.width));
        let mut nodes = Nodes {
            sure: graph.nodes.map(|_| nothing.clone()),
            past: graph.nodes.map(|_| nothing.clone()),
            after: graph.nodes.map(|_| after.clone()),
            ways: graph.nodes.map(|_| Vec::new()),
        };
        for id in in_order(graph) {
            let node = &graph.nodes[id];
            let mut past = nothing.clone();
            for from in predecessors(node) {
                past.add(from.index());
                past.unite(&nodes.past[from]);
            }
            let sure = self.surely(graph, node, &past, &nodes.sure);
            let mut here = state(before, &nodes, &sure, &past, predecessors(node).next());
            self.doubt(&here, &Why::NotRun);
            for edge in &node.incoming {
                if let Some(when) = &edge.when {
                    let mut ended = nodes.sure[edge.from].clone();
                    ended.add(edge.from.index());
                    self.cond(when, &state(before, &nodes, &ended, &past, Some(edge.from)), Some(step));
                }
                if let Some((slot, _)) = &edge.carry {
                    if node.incoming.len() == 1 { here.set(slot.index()) } else { here.may.add(slot.index()) }
                }
            }
            let ways = nodes.ways(graph, node, &here.must, &past);
            let edges: Option<Vec<_>> = node.incoming.iter().map(|edge| edge.when.as_ref()).collect();
            let outer = (std::mem::replace(&mut self.ways, ways), std::mem::take(&mut self.edges));
            self.edges = edges.unwrap_or_default();
            let after = self.step(node.step, here);
            let ways = std::mem::replace(&mut self.ways, outer.0);
            self.edges = outer.1;
            nodes.ways[id] = ways;
            nodes.sure[id] = sure;
            nodes.past[id] = past;
            nodes.after[id] = after;
        }
        let all = Slots::new(n, true);
        let sure = self.certain(graph, nothing, &all, &[]);
        let end = state(before, &nodes, &sure, &all, None);
        self.doubt(&end, &Why::NotRun);
        end
    }

    /// The nodes that have certainly succeeded when this one runs; `past` are all nodes ordered before it.
    fn surely(&self, graph: &Graph, node: &GraphNode, past: &Slots, sure: &IndexVec<NodeId, Slots>) -> Slots {
        let way = |from: NodeId| {
            let mut way = sure[from].clone();
            way.add(from.index());
            way
        };
        let mut ways = node.incoming.iter().map(|edge| way(edge.from));
        let mut known = Slots::new(graph.nodes.len(), false);
        if let Some(first) = ways.next() {
            known = first;
            ways.for_each(|way| known.intersect(&way));
        }
        // A fallback runs because its node failed.
        let mains = &node.fallback_of;
        if let [main] = mains.as_slice() {
            known.unite(&way(*main));
        }
        mains.iter().for_each(|main| known.remove(main.index()));
        self.certain(graph, known, past, mains)
    }

    /// These nodes, and those that certainly ran because of them.
    fn certain(&self, graph: &Graph, mut known: Slots, past: &Slots, failed: &[NodeId]) -> Slots {
        loop {
            let mut more = false;
            // If a node's predecessors are known, the node is usually known as well, so few are left.
            for id in ids(past.beyond(&known)).filter(|id| !failed.contains(id)) {
                let node = &graph.nodes[id];
                if self.ends_well(node) && must_start(node, &known) {
                    known.add(id.index());
                    more = true;
                }
            }
            if !more {
                return known;
            }
        }
    }

    /// Whether a node that runs succeeds, or else the run fails.
    fn ends_well(&self, node: &GraphNode) -> bool {
        let policy = &self.program.steps[node.step].policy;
        node.fallback.is_none() && !matches!(policy.on_failure, OnFailure::Skip)
    }
}

impl Nodes {
    /// What is certainly set on each path to a node: one path for every incoming edge and every path to its source, and
    /// for a node or its fallback.
    fn ways(&self, graph: &Graph, node: &GraphNode, must: &Slots, past: &Slots) -> Vec<Slots> {
        let mut all: Vec<Slots> = Vec::new();
        for edge in &node.incoming {
            for way in &self.ways[edge.from] {
                let mut way = way.clone();
                way.unite(&self.after[edge.from].must);
                way.unite(must);
                all.push(way);
            }
        }
        if all.is_empty() {
            all.push(must.clone());
        }
        for (main, other) in graph.nodes.entries() {
            let Some(stands_in) = other.fallback.filter(|f| past.has(f.index())) else { continue };
            let starts = past.has(main.index()) && other.incoming.is_empty() && other.fallback_of.is_empty();
            let (well, instead) = (&self.after[main], &self.after[stands_in]);
            if starts && node.incoming.is_empty() && all.len() * 2 <= WAYS {
                all = all
                    .iter()
                    .flat_map(|way| [&well.must, &instead.must].map(|more| (way.clone(), more)))
                    .map(|(mut way, more)| {
                        way.unite(more);
                        way
                    })
                    .collect();
            }
        }
        if all.len() > WAYS { vec![must.clone()] } else { all }
    }
}

/// Whether a node certainly runs after these have succeeded.
fn must_start(node: &GraphNode, known: &Slots) -> bool {
    let taken = |e: &trefoil_ir::Edge| e.when.is_none() && known.has(e.from.index());
    node.fallback_of.is_empty() && (node.incoming.is_empty() || node.incoming.iter().any(taken))
}

/// The state after these nodes: those that certainly ran, and those that may have. The state of a predecessor among
/// them is reused.
fn state(before: &State, nodes: &Nodes, sure: &Slots, past: &Slots, predecessor: Option<NodeId>) -> State {
    let mut state = before.clone();
    let (mut known, mut seen) = (Slots::default(), Slots::default());
    if let Some(id) = predecessor.filter(|id| sure.has(id.index())) {
        state.both(&nodes.after[id]);
        (known, seen) = (nodes.sure[id].clone(), nodes.past[id].clone());
        known.add(id.index());
        seen.add(id.index());
    }
    ids(sure.beyond(&known)).for_each(|id| state.both(&nodes.after[id]));
    ids(past.beyond(&seen)).for_each(|id| state.may.unite(&nodes.after[id].may));
    state
}

/// The nodes of a set.
fn ids(set: Vec<usize>) -> impl Iterator<Item = NodeId> {
    set.into_iter().map(NodeId::from_index)
}
