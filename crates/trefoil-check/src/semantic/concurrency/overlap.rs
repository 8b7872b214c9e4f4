//! Nodes of a graph that write the same path, or a path and one below it.

use trefoil_ir::{ComposedPart, FlowId, NodeId, SlotId, Source, StepGraph, StepKind, walk};
use trefoil_syntax::hash::HashMap;

use crate::semantic::SemanticModel;

/// Two values that are merged into one object at the same path, or one below the other.
pub struct WriteOverlap<'p> {
    /// The nodes that write them, in the order in which they are merged.
    pub nodes: (NodeId, NodeId),
    /// The values.
    pub parts: (&'p ComposedPart, &'p ComposedPart),
    /// Their indexes in the object.
    pub at: (usize, usize),
}

/// The graphs that a run can get to, each with its flow.
pub fn reachable_graphs<'p>(model: &SemanticModel<'p>) -> Vec<(FlowId, &'p StepGraph)> {
    let graphs = model.all_steps().filter_map(|(flow, _, step)| match &step.kind {
        StepKind::Graph(graph) if model.reach_analysis().is_called(flow) => Some((flow, graph)),
        _ => None,
    });
    graphs.collect()
}

/// For each object that a flow reads: the values in it that nodes of a graph write. Each value is compared with at most
/// `most` earlier ones of each path.
pub fn find_overlaps<'p>(
    model: &SemanticModel<'p>,
    flow: FlowId,
    graph: &StepGraph,
    most: usize,
) -> Vec<Vec<WriteOverlap<'p>>> {
    let slots = graph.nodes.entries().filter_map(|(id, node)| Some((model.program.steps[node.step].out?, id)));
    let writers: HashMap<SlotId, NodeId> = slots.collect();
    let mut found = Vec::new();
    let mut look = |source: &'p Source| {
        if let Source::Compose { parts, .. } = source {
            found.push(of_parts(parts, &writers, most));
        }
    };
    let steps = model.steps_of(flow).iter().map(|(_, id)| &model.program.steps[*id]);
    steps.flat_map(walk::evaluated_by_step).for_each(|e| e.visit_sources(&mut look));
    walk::evaluated_by_flow(&model.program.flows[flow]).into_iter().for_each(|e| e.visit_sources(&mut look));
    found
}

fn of_parts<'p>(parts: &'p [ComposedPart], writers: &HashMap<SlotId, NodeId>, most: usize) -> Vec<WriteOverlap<'p>> {
    // The values that were written at a path, and those below it.
    let mut whole: HashMap<&[std::sync::Arc<str>], Vec<usize>> = HashMap::default();
    let mut inner = whole.clone();
    let mut found = Vec::new();
    for (b, other) in parts.iter().enumerate().filter(|(_, part)| !part.at.is_empty()) {
        let Some(&second) = writers.get(&other.slot) else { continue };
        let mut add = |all: Option<&Vec<usize>>| {
            for &a in all.into_iter().flatten().rev().take(most) {
                let Some(one) = parts.get(a) else { continue };
                let first = writers.get(&one.slot).copied().filter(|first| *first != second);
                found.extend(first.map(|first| WriteOverlap {
                    nodes: (first, second),
                    parts: (one, other),
                    at: (a, b),
                }));
            }
        };
        let outer = || (1..other.at.len()).filter_map(|n| other.at.get(..n));
        add(whole.get(&*other.at));
        add(inner.get(&*other.at));
        outer().for_each(|path| add(whole.get(path)));
        whole.entry(&other.at).or_default().push(b);
        outer().for_each(|path| inner.entry(path).or_default().push(b));
    }
    found
}
