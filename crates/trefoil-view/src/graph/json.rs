//! A graph as JSON.

use serde_json::{Value, json};

use super::GraphPicture;
use super::layout::{LayoutBox, find_layout, heading_lines};

/// The graph without a run, as JSON.
pub fn write_json(graph: &GraphPicture) -> String {
    place_graph(graph, &|_| Vec::new(), &|_| Vec::new()).to_string()
}

/// The boxes, frames and arrows with their positions, so that a page can draw them without a layout. `of_nodes`, `of_frames`: the steps that a
/// box or frame shows.
pub(crate) fn place_graph(
    graph: &GraphPicture,
    of_nodes: &dyn Fn(usize) -> Vec<String>,
    of_frames: &dyn Fn(usize) -> Vec<String>,
) -> Value {
    let placed = find_layout(graph);
    let mut nodes = Vec::new();
    for (i, (node, at)) in graph.nodes.iter().zip(&placed.nodes).enumerate() {
        let (x, y) = corner(at);
        nodes.push(json!({
            "id": format!("n{i}"), "label": node.title, "kind": node.shape, "notes": node.notes,
            "optional": node.optional, "x": x, "y": y, "width": round(at.width), "height": round(at.height),
            "file": node.place.as_ref().map(|p| &p.file), "line": node.place.as_ref().map(|p| p.line), "frame": id('f', node.cluster),
            "steps": of_nodes(i),
        }));
    }
    let mut frames = Vec::new();
    for (i, (cluster, (at, title))) in graph.clusters.iter().zip(placed.clusters.iter().zip(&placed.titles)).enumerate()
    {
        if at.width <= 0.0 {
            continue;
        }
        let (x, y) = corner(at);
        frames.push(json!({
            "id": format!("f{i}"), "label": cluster.title, "note": cluster.note, "x": x, "y": y,
            "width": round(at.width), "height": round(at.height), "frame": id('f', cluster.parent),
            "title_x": round(title.x), "title_y": round(title.y), "title_lines": heading_lines(cluster),
            "steps": of_frames(i),
        }));
    }
    let mut edges = Vec::new();
    for (edge, way) in graph.edges.iter().zip(&placed.edges) {
        let points: Vec<(f64, f64)> = way.points.iter().map(|(x, y)| (round(*x), round(*y))).collect();
        edges.push(json!({
            "from": id('n', Some(edge.from)), "to": id('n', Some(edge.to)), "label": edge.label, "line": edge.line,
            "points": points, "label_at": way.label.map(|(x, y)| (round(x), round(y))),
        }));
    }
    json!({
        "title": graph.title, "width": round(placed.width), "height": round(placed.height),
        "nodes": nodes, "frames": frames, "edges": edges,
    })
}

fn round(n: f64) -> f64 {
    (n * 10.0).round() / 10.0
}

/// The upper left corner.
fn corner(place: &LayoutBox) -> (f64, f64) {
    (round(place.x - place.width / 2.0), round(place.y - place.height / 2.0))
}

fn id(letter: char, index: Option<usize>) -> Option<String> {
    Some(format!("{letter}{}", index?))
}
