//! The graph of the program in a trace, with positions, so that a page can draw it without a layout; and which box or
//! frame shows each step.

use serde_json::Value;
use trefoil_machine::key::{KeyPart, parse_key_parts};
use trefoil_syntax::Location;

use crate::graph::GraphPicture;
use crate::graph::json::place_graph;
use crate::run_view::StepView;

/// The box and the frame that show each step, in the order of the steps.
pub(super) struct StepShapes {
    pub nodes: Vec<Option<usize>>,
    pub frames: Vec<Option<usize>>,
}

/// Finds them by the step's place in the manifest; if several boxes show a flow, by the box of the enclosing step.
pub(super) fn find_step_shapes(graph: &GraphPicture, steps: &[&StepView], parents: &[Option<usize>]) -> StepShapes {
    let mut found = StepShapes { nodes: Vec::with_capacity(parents.len()), frames: Vec::with_capacity(parents.len()) };
    for (step, parent) in steps.iter().zip(parents) {
        let (mut node, mut frame) = (None, None);
        if let Some(at) = step.location {
            let nodes = owners(graph.nodes.iter().map(|n| n.origins.as_slice()), at);
            node = pick(&nodes, parent.and_then(|p| index_at(&found.nodes, p)));
            let frames = owners(graph.clusters.iter().map(|c| c.origins.as_slice()), at);
            frame = pick(&frames, parent.and_then(|p| index_at(&found.frames, p)));
        }
        // A structure is shown by its frame, if it has one; an effect by its box.
        let acts = matches!(step.kind, "agent" | "tool" | "command" | "human" | "wait" | "value");
        let framed = frame.is_some() && (node.is_none() || !acts);
        found.nodes.push(if framed { None } else { node });
        found.frames.push(if framed { frame } else { None });
    }
    found
}

/// The indices of those that have a place among their origins.
fn owners<'g>(origins: impl Iterator<Item = &'g [Location]>, at: Location) -> Vec<usize> {
    let mut owners = Vec::new();
    for (index, origins) in origins.enumerate() {
        if origins.contains(&at) {
            owners.push(index);
        }
    }
    owners
}

/// The owner that also shows the step above, or the first one.
fn pick(owners: &[usize], above: Option<usize>) -> Option<usize> {
    match above {
        Some(above) if owners.contains(&above) => Some(above),
        _ => owners.first().copied(),
    }
}

/// The index at a place of a list, if there is one.
pub(super) fn index_at(all: &[Option<usize>], at: usize) -> Option<usize> {
    all.get(at).copied().flatten()
}

/// A step's key without passes, items, iterations and tries.
pub(super) fn key_pattern(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    for (n, part) in parse_key_parts(key).enumerate() {
        match part {
            KeyPart::Label(_) if n > 0 => out.push('/'),
            KeyPart::Own(_) => out.push('~'),
            _ => {}
        }
        if let KeyPart::Label(name) | KeyPart::Own(name) = part {
            out.push_str(name);
        }
    }
    out
}

/// The graph as JSON, with the steps that each box and frame shows; null if it is too large.
pub(super) fn graph_json(graph: &GraphPicture, steps: &[&StepView], shown: &StepShapes) -> Value {
    if graph.check_size().is_err() {
        return Value::Null;
    }
    let of_nodes = |index| key_patterns(steps, &shown.nodes, index);
    let of_frames = |index| key_patterns(steps, &shown.frames, index);
    place_graph(graph, &of_nodes, &of_frames)
}

/// The patterns of the keys of the steps that a box or frame shows.
fn key_patterns(steps: &[&StepView], owners: &[Option<usize>], index: usize) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for (step, owner) in steps.iter().zip(owners) {
        if *owner != Some(index) {
            continue;
        }
        let key = match &step.key {
            Some(key) => key_pattern(&key.0),
            None => String::new(),
        };
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_pattern_is_a_key_without_what_tells_copies_apart() {
        assert_eq!(super::key_pattern("loop@2/each[11]/write#3/review!2"), "loop/each/write/review");
        assert_eq!(super::key_pattern("a~2/b"), "a~2/b");
    }
}
