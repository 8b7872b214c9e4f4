//! Graphs: which nodes have certainly run and succeeded before each node.
//!
//! A node with edges runs if one of them is taken, so the nodes that certainly ran before all of their sources have
//! run; so has everything that must follow from those. A node that may fail without failing the run (because of a
//! fallback or a skip policy) does not certainly have a result.

use trefoil_ir::{GraphNode, IndexVec, NodeId, OnStepFailure, StepGraph, StepId, TypedIndex};

use super::AssignmentWalk;
use crate::semantic::concurrency::{in_order, predecessors_of};
use crate::semantic::reads::AbsenceReason;
use crate::semantic::slots::{SlotSet, SlotState};

/// What is known about the nodes visited so far.
struct GraphAssignments {
    /// For each node: the nodes that have certainly succeeded when it runs.
    sure: IndexVec<NodeId, SlotSet>,
    /// For each node: all nodes ordered before it.
    past: IndexVec<NodeId, SlotSet>,
    /// For each node: what is set after it has run.
    after: IndexVec<NodeId, SlotState>,
    /// For each node: what is certainly set on each path to it.
    ways: IndexVec<NodeId, Vec<SlotSet>>,
}

/// The maximum number of paths that are distinguished.
const WAYS: usize = 16;

impl<'p> AssignmentWalk<'_, 'p> {
    /// What is set when the graph has ended.
    pub(super) fn walk_graph(&mut self, step: StepId, graph: &'p StepGraph, before: &SlotState) -> SlotState {
        let n = graph.nodes.len();
        let (nothing, after) = (SlotSet::new(n, false), SlotState::with_nothing_set(self.width));
        let mut nodes = GraphAssignments {
            sure: graph.nodes.map(|_| nothing.clone()),
            past: graph.nodes.map(|_| nothing.clone()),
            after: graph.nodes.map(|_| after.clone()),
            ways: graph.nodes.map(|_| Vec::new()),
        };
        for id in in_order(graph) {
            let node = &graph.nodes[id];
            let mut past = nothing.clone();
            for from in predecessors_of(node) {
                past.add_slot(from.index());
                past.union_with(&nodes.past[from]);
            }
            let sure = self.surely(graph, node, &past, &nodes.sure);
            let mut here = state(before, &nodes, &sure, &past, predecessors_of(node).next());
            self.doubt(&here, &AbsenceReason::NotRun);
            for edge in &node.incoming {
                if let Some(when) = &edge.when {
                    let mut ended = nodes.sure[edge.from].clone();
                    ended.add_slot(edge.from.index());
                    self.visit_condition(when, &state(before, &nodes, &ended, &past, Some(edge.from)), Some(step));
                }
                if let Some((slot, _)) = &edge.carry {
                    if node.incoming.len() == 1 {
                        here.set_always(slot.index())
                    } else {
                        here.may.add_slot(slot.index())
                    }
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
        let all = SlotSet::new(n, true);
        let sure = self.certain(graph, nothing, &all, &[]);
        let end = state(before, &nodes, &sure, &all, None);
        self.doubt(&end, &AbsenceReason::NotRun);
        end
    }

    /// The nodes that have certainly succeeded when this one runs; `past` are all nodes ordered before it.
    fn surely(&self, graph: &StepGraph, node: &GraphNode, past: &SlotSet, sure: &IndexVec<NodeId, SlotSet>) -> SlotSet {
        let way = |from: NodeId| {
            let mut way = sure[from].clone();
            way.add_slot(from.index());
            way
        };
        let mut known = match node.incoming.split_first() {
            Some((first, others)) => {
                let mut known = way(first.from);
                for edge in others {
                    known.intersect_with(&way(edge.from));
                }
                known
            }
            None => SlotSet::new(graph.nodes.len(), false),
        };
        // A fallback runs because its node failed.
        let mains = &node.fallback_of;
        if let [main] = mains.as_slice() {
            known.union_with(&way(*main));
        }
        for main in mains {
            known.remove(main.index());
        }
        self.certain(graph, known, past, mains)
    }

    /// These nodes, and those that certainly ran because of them.
    fn certain(&self, graph: &StepGraph, mut known: SlotSet, past: &SlotSet, failed: &[NodeId]) -> SlotSet {
        loop {
            let mut more = false;
            // If a node's predecessors are known, the node is usually known as well, so few are left.
            for id in ids(past.difference_from(&known)) {
                let node = &graph.nodes[id];
                if !failed.contains(&id) && self.ends_well(node) && must_start(node, &known) {
                    known.add_slot(id.index());
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
        node.fallback.is_none() && !matches!(policy.on_failure, OnStepFailure::Skip)
    }
}

impl GraphAssignments {
    /// What is certainly set on each path to a node: one path for every incoming edge and every path to its source, and
    /// for a node or its fallback.
    fn ways(&self, graph: &StepGraph, node: &GraphNode, must: &SlotSet, past: &SlotSet) -> Vec<SlotSet> {
        let mut all: Vec<SlotSet> = Vec::new();
        for edge in &node.incoming {
            for way in &self.ways[edge.from] {
                let mut way = way.clone();
                way.union_with(&self.after[edge.from].must);
                way.union_with(must);
                all.push(way);
            }
        }
        if all.is_empty() {
            all.push(must.clone());
        }
        for (main, other) in graph.nodes.entries() {
            let Some(stands_in) = other.fallback else { continue };
            if !past.has_slot(stands_in.index()) {
                continue;
            }
            let starts = past.has_slot(main.index()) && other.incoming.is_empty() && other.fallback_of.is_empty();
            let (well, instead) = (&self.after[main], &self.after[stands_in]);
            if starts && node.incoming.is_empty() && all.len() * 2 <= WAYS {
                let mut doubled = Vec::with_capacity(all.len() * 2);
                for way in &all {
                    for more in [&well.must, &instead.must] {
                        let mut way = way.clone();
                        way.union_with(more);
                        doubled.push(way);
                    }
                }
                all = doubled;
            }
        }
        if all.len() > WAYS { vec![must.clone()] } else { all }
    }
}

/// Whether a node certainly runs after these have succeeded.
fn must_start(node: &GraphNode, known: &SlotSet) -> bool {
    let taken = |e: &trefoil_ir::GraphEdge| e.when.is_none() && known.has_slot(e.from.index());
    node.fallback_of.is_empty() && (node.incoming.is_empty() || node.incoming.iter().any(taken))
}

/// The state after these nodes: those that certainly ran, and those that may have. The state of a predecessor among
/// them is reused.
fn state(
    before: &SlotState,
    nodes: &GraphAssignments,
    sure: &SlotSet,
    past: &SlotSet,
    predecessor: Option<NodeId>,
) -> SlotState {
    let mut state = before.clone();
    let (mut known, mut seen) = (SlotSet::default(), SlotSet::default());
    if let Some(id) = predecessor
        && sure.has_slot(id.index())
    {
        state.merge_sequential(&nodes.after[id]);
        (known, seen) = (nodes.sure[id].clone(), nodes.past[id].clone());
        known.add_slot(id.index());
        seen.add_slot(id.index());
    }
    for id in ids(sure.difference_from(&known)) {
        state.merge_sequential(&nodes.after[id]);
    }
    for id in ids(past.difference_from(&seen)) {
        state.may.union_with(&nodes.after[id].may);
    }
    state
}

/// The nodes of a set.
fn ids(set: Vec<usize>) -> impl Iterator<Item = NodeId> {
    set.into_iter().map(NodeId::from_index)
}
