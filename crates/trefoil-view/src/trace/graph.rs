//! The graph of the program in a trace, with positions, so that a page can draw it without a layout; and which box or
//! frame shows each step.

use serde_json::{Value, json};
use trefoil_machine::key::{KeyPart, parse_key_parts};
use trefoil_syntax::Location;

use crate::graph::GraphPicture;
use crate::graph::layout::{LayoutBox, compute_layout, heading_lines};
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
        let above = |all: &[Option<usize>]| parent.and_then(|p| all.get(p).copied().flatten());
        let pick = |owners: Vec<usize>, above: Option<usize>| match above {
            Some(above) if owners.contains(&above) => Some(above),
            _ => owners.first().copied(),
        };
        let owns = |origins: &[Location]| step.location.is_some_and(|at| origins.contains(&at));
        let nodes = graph.nodes.iter().enumerate().filter(|(_, n)| owns(&n.origins)).map(|(i, _)| i).collect();
        let node = pick(nodes, above(&found.nodes));
        let frames = graph.clusters.iter().enumerate().filter(|(_, c)| owns(&c.origins)).map(|(i, _)| i).collect();
        let frame = pick(frames, above(&found.frames));
        // A structure is shown by its frame, if it has one; an effect by its box.
        let acts = matches!(step.kind, "agent" | "tool" | "command" | "human" | "wait" | "value");
        let framed = frame.is_some() && (node.is_none() || !acts);
        found.nodes.push(if framed { None } else { node });
        found.frames.push(if framed { frame } else { None });
    }
    found
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

/// Larger graphs would take longer to lay out than the run took, and are unreadable.
const MOST_NODES: usize = 400;
const MOST_EDGES: usize = 800;

/// The graph as JSON; null if it is too large.
pub(super) fn graph_json(graph: &GraphPicture, steps: &[&StepView], shown: &StepShapes) -> Value {
    if graph.nodes.len() > MOST_NODES || graph.edges.len() > MOST_EDGES {
        return Value::Null;
    }
    let placed = compute_layout(graph);
    let round = |n: f64| (n * 10.0).round() / 10.0;
    let corner = |p: &LayoutBox| (round(p.x - p.width / 2.0), round(p.y - p.height / 2.0));
    let patterns = |all: &[Option<usize>], index: usize| {
        let mut keys: Vec<String> = Vec::new();
        for (step, _) in steps.iter().zip(all).filter(|(_, owner)| **owner == Some(index)) {
            let key = key_pattern(step.key.as_ref().map_or("", |k| &k.0));
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    };
    let id = |letter: char, index: Option<usize>| index.map(|i| format!("{letter}{i}"));
    let nodes = graph.nodes.iter().zip(&placed.nodes).enumerate().map(|(i, (node, at))| {
        let (x, y) = corner(at);
        json!({
            "id": format!("n{i}"), "label": node.title, "kind": node.shape, "notes": node.notes,
            "optional": node.optional, "x": x, "y": y, "width": round(at.width), "height": round(at.height),
            "file": node.place.as_ref().map(|p| &p.file), "line": node.place.as_ref().map(|p| p.line), "frame": id('f', node.cluster),
            "steps": patterns(&shown.nodes, i),
        })
    });
    let frames = graph.clusters.iter().zip(placed.clusters.iter().zip(&placed.titles)).enumerate();
    let frames = frames.filter(|(_, (_, (at, _)))| at.width > 0.0).map(|(i, (cluster, (at, title)))| {
        let (x, y) = corner(at);
        json!({
            "id": format!("f{i}"), "label": cluster.title, "note": cluster.note, "x": x, "y": y,
            "width": round(at.width), "height": round(at.height), "frame": id('f', cluster.parent),
            "title_x": round(title.x), "title_y": round(title.y), "title_lines": heading_lines(cluster), "steps": patterns(&shown.frames, i),
        })
    });
    let edges = graph.edges.iter().zip(&placed.edges).map(|(edge, way)| {
        let points: Vec<(f64, f64)> = way.points.iter().map(|(x, y)| (round(*x), round(*y))).collect();
        json!({
            "from": id('n', Some(edge.from)), "to": id('n', Some(edge.to)), "label": edge.label, "line": edge.line,
            "points": points, "label_at": way.label.map(|(x, y)| (round(x), round(y))),
        })
    });
    json!({
        "title": graph.title, "width": round(placed.width), "height": round(placed.height),
        "nodes": nodes.collect::<Vec<_>>(), "frames": frames.collect::<Vec<_>>(), "edges": edges.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_pattern_is_a_key_without_what_tells_copies_apart() {
        assert_eq!(super::key_pattern("loop@2/each[11]/write#3/review!2"), "loop/each/write/review");
        assert_eq!(super::key_pattern("a~2/b"), "a~2/b");
    }
}
