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
    let mut graphs = Vec::new();
    for (flow, _, step) in model.all_steps() {
        if let StepKind::Graph(graph) = &step.kind
            && model.reach_analysis().is_called(flow)
        {
            graphs.push((flow, graph));
        }
    }
    graphs
}

/// For each object that a flow reads: the values in it that nodes of a graph write. Each value is compared with at most
/// `most` earlier ones of each path.
pub fn find_overlaps<'p>(
    model: &SemanticModel<'p>,
    flow: FlowId,
    graph: &StepGraph,
    most: usize,
) -> Vec<Vec<WriteOverlap<'p>>> {
    let mut writers: HashMap<SlotId, NodeId> = HashMap::default();
    for (id, node) in graph.nodes.entries() {
        if let Some(slot) = model.program.steps[node.step].out {
            writers.insert(slot, id);
        }
    }
    let mut found = Vec::new();
    let mut look = |source: &'p Source| {
        if let Source::Compose { parts, .. } = source {
            found.push(of_parts(parts, &writers, most));
        }
    };
    for (_, id) in model.steps_of(flow) {
        for part in walk::evaluated_by_step(&model.program.steps[*id]) {
            part.visit_sources(&mut look);
        }
    }
    for part in walk::evaluated_by_flow(&model.program.flows[flow]) {
        part.visit_sources(&mut look);
    }
    found
}

fn of_parts<'p>(parts: &'p [ComposedPart], writers: &HashMap<SlotId, NodeId>, most: usize) -> Vec<WriteOverlap<'p>> {
    // The values that were written at a path, and those below it.
    let mut whole: HashMap<&[std::sync::Arc<str>], Vec<usize>> = HashMap::default();
    let mut inner = whole.clone();
    let mut found = Vec::new();
    for (b, part) in parts.iter().enumerate() {
        if part.at.is_empty() {
            continue;
        }
        let Some(&second) = writers.get(&part.slot) else { continue };
        let mut add = |earlier: Option<&Vec<usize>>| {
            let Some(earlier) = earlier else { return };
            for &a in earlier.iter().rev().take(most) {
                let Some(earlier_part) = parts.get(a) else { continue };
                let Some(&first) = writers.get(&earlier_part.slot) else { continue };
                if first != second {
                    found.push(WriteOverlap { nodes: (first, second), parts: (earlier_part, part), at: (a, b) });
                }
            }
        };
        let mut outer_paths = Vec::new();
        for length in 1..part.at.len() {
            outer_paths.extend(part.at.get(..length));
        }
        add(whole.get(&*part.at));
        add(inner.get(&*part.at));
        for &path in &outer_paths {
            add(whole.get(path));
        }
        whole.entry(&part.at).or_default().push(b);
        for path in outer_paths {
            inner.entry(path).or_default().push(b);
        }
    }
    found
}
