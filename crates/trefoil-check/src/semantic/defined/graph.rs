//! Graphs: which nodes have certainly run and succeeded before each node.
//!
//! A node with edges runs if one of them is taken, so the nodes that certainly ran before all of their sources have
//! run; so has everything that must follow from those. A node that may fail without failing the run (because of a
//! fallback or a skip policy) does not certainly have a result.

use std::collections::BTreeSet;

use trefoil_ir::{Graph, GraphNode, OnFailure, StepId};

use super::Walk;
use crate::semantic::reads::Why;
use crate::semantic::slots::{Slots, State};

/// What is known about the nodes visited so far.
struct Nodes {
    /// For each node: the nodes that have certainly succeeded when it runs.
    sure: Vec<Slots>,
    /// For each node: all nodes ordered before it.
    past: Vec<Slots>,
    /// For each node: what is set after it has run.
    after: Vec<State>,
    /// For each node: what is certainly set on each path to it.
    ways: Vec<Vec<Slots>>,
}

/// The maximum number of paths that are distinguished.
const WAYS: usize = 16;

impl<'p> Walk<'_, 'p> {
    /// What is set when the graph has ended.
    pub(super) fn graph(&mut self, id: StepId, graph: &'p Graph, before: &State) -> State {
        let n = graph.nodes.len();
        let nothing = || vec![Slots::new(n, false); n];
        let after = vec![State::nothing(self.width); n];
        let mut nodes = Nodes { sure: nothing(), past: nothing(), after, ways: vec![Vec::new(); n] };
        for at in order(graph) {
            let Some(node) = graph.nodes.get(at) else { continue };
            let mut past = Slots::new(n, false);
            for from in predecessors(node) {
                past.add(from);
                if let Some(inner) = nodes.past.get(from) {
                    past.unite(inner);
                }
            }
            let sure = self.surely(graph, node, &past, &nodes.sure);
            let mut here = state(before, &nodes, &sure, &past, predecessors(node).next());
            self.doubt(&here, &Why::NotRun);
            for edge in &node.incoming {
                let mut ended = nodes.sure.get(edge.from.index()).cloned().unwrap_or_default();
                ended.add(edge.from.index());
                if let Some(when) = &edge.when {
                    self.cond(when, &state(before, &nodes, &ended, &past, Some(edge.from.index())), Some(id));
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
            if let Some(place) = nodes.ways.get_mut(at) {
                *place = ways;
            }
            for (place, value) in [(nodes.sure.get_mut(at), sure), (nodes.past.get_mut(at), past)] {
                if let Some(place) = place {
                    *place = value;
                }
            }
            if let Some(place) = nodes.after.get_mut(at) {
                *place = after;
            }
        }
        let all = Slots::new(n, true);
        let sure = self.certain(graph, Slots::new(n, false), &all, &[]);
        let end = state(before, &nodes, &sure, &all, None);
        self.doubt(&end, &Why::NotRun);
        end
    }

    /// The nodes that have certainly succeeded when this one runs; `past` are all nodes ordered before it.
    fn surely(&self, graph: &Graph, node: &GraphNode, past: &Slots, sure: &[Slots]) -> Slots {
        let way = |from: usize| {
            let mut way = sure.get(from).cloned().unwrap_or_default();
            way.add(from);
            way
        };
        let mut ways = node.incoming.iter().map(|edge| way(edge.from.index()));
        let mut known = Slots::new(graph.nodes.len(), false);
        if let Some(first) = ways.next() {
            known = first;
            ways.for_each(|way| known.intersect(&way));
        }
        // A fallback runs because its node failed.
        let mains: Vec<usize> = node.fallback_of.iter().map(|n| n.index()).collect();
        if let [main] = mains.as_slice() {
            known.unite(&way(*main));
        }
        mains.iter().for_each(|main| known.remove(*main));
        self.certain(graph, known, past, &mains)
    }

    /// These nodes, and those that certainly ran because of them.
    fn certain(&self, graph: &Graph, mut known: Slots, past: &Slots, failed: &[usize]) -> Slots {
        loop {
            let mut more = false;
            // If a node's predecessors are known, the node is usually known as well, so few are left.
            for at in past.beyond(&known).into_iter().filter(|at| !failed.contains(at)) {
                let Some(node) = graph.nodes.get(at) else { break };
                if self.ends_well(node) && must_start(node, &known) {
                    known.add(at);
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
        let policy = self.program.step(node.step).map(|s| &s.policy.on_failure);
        node.fallback.is_none() && !matches!(policy, Some(OnFailure::Skip))
    }
}

impl Nodes {
    /// What is certainly set on each path to a node: one path for every incoming edge and every path to its source, and
    /// for a node or its fallback.
    fn ways(&self, graph: &Graph, node: &GraphNode, must: &Slots, past: &Slots) -> Vec<Slots> {
        let mut all: Vec<Slots> = Vec::new();
        for edge in &node.incoming {
            let from = edge.from.index();
            let (Some(before), Some(after)) = (self.ways.get(from), self.after.get(from)) else { continue };
            for way in before {
                let mut way = way.clone();
                way.unite(&after.must);
                way.unite(must);
                all.push(way);
            }
        }
        if all.is_empty() {
            all.push(must.clone());
        }
        for (main, other) in graph.nodes.iter().enumerate() {
            let Some(stands_in) = other.fallback.map(|f| f.index()).filter(|f| past.has(*f)) else { continue };
            let starts = past.has(main) && other.incoming.is_empty() && other.fallback_of.is_empty();
            let (Some(well), Some(instead)) = (self.after.get(main), self.after.get(stands_in)) else { continue };
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
fn state(before: &State, nodes: &Nodes, sure: &Slots, past: &Slots, predecessor: Option<usize>) -> State {
    let mut state = before.clone();
    let (mut known, mut seen) = (Slots::default(), Slots::default());
    if let Some(at) = predecessor.filter(|at| sure.has(*at))
        && let (Some(after), Some(of), Some(earlier)) = (nodes.after.get(at), nodes.sure.get(at), nodes.past.get(at))
    {
        state.both(after);
        (known, seen) = (of.clone(), earlier.clone());
        known.add(at);
        seen.add(at);
    }
    for after in sure.beyond(&known).into_iter().filter_map(|at| nodes.after.get(at)) {
        state.both(after);
    }
    for after in past.beyond(&seen).into_iter().filter_map(|at| nodes.after.get(at)) {
        state.may.unite(&after.may);
    }
    state
}

fn predecessors(node: &GraphNode) -> impl Iterator<Item = usize> {
    let edges = node.incoming.iter().map(|e| e.from.index());
    edges.chain(node.after.iter().chain(&node.fallback_of).map(|n| n.index()))
}

/// The nodes in topological order, with ties in declaration order. Nodes in cycles come last.
fn order(graph: &Graph) -> Vec<usize> {
    let n = graph.nodes.len();
    let mut waits = vec![0usize; n];
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (at, node) in graph.nodes.iter().enumerate() {
        for from in predecessors(node) {
            if let (Some(next), Some(waits)) = (next.get_mut(from), waits.get_mut(at)) {
                next.push(at);
                *waits += 1;
            }
        }
    }
    let mut ready: BTreeSet<usize> = waits.iter().enumerate().filter(|(_, w)| **w == 0).map(|(at, _)| at).collect();
    let mut order = Vec::with_capacity(n);
    while let Some(at) = ready.pop_first() {
        order.push(at);
        for then in next.get(at).into_iter().flatten() {
            if let Some(waits) = waits.get_mut(*then) {
                *waits -= 1;
                if *waits == 0 {
                    ready.insert(*then);
                }
            }
        }
    }
    let placed: BTreeSet<usize> = order.iter().copied().collect();
    order.extend((0..n).filter(|at| !placed.contains(at)));
    order
}
