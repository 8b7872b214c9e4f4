//! Computes the positions of boxes, frames and arrows: layered, top to bottom or left to right.
//!
//! Uses `dagre` for layering. It does not support titles of frames, so each frame gets an invisible box for its title,
//! placed above the first boxes in the frame.

use dagre::graph::{Graph as Layered, GraphOptions};
use dagre::layout::types::LabelPos;
use dagre::{EdgeLabel, LayoutOptions, NodeLabel, RankDir};

use super::{ArrowDirection, BoxShape, GraphBox, GraphFrame, GraphPicture};

/// Font size of titles, in pixels.
pub(super) const TITLE: f64 = 14.0;
/// Font size of notes and labels.
pub(super) const SMALL: f64 = 11.0;
/// The line height, as a multiple of the font size.
pub(super) const LEADING: f64 = 1.35;
/// The distance between a box and its text.
pub(super) const PADDING: f64 = 12.0;
const MARGIN: f64 = 24.0;
/// The width to which a frame's title is wrapped, so that the frame fits its contents.
const HEADING: f64 = 220.0;

/// A rectangle by its center.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct LayoutBox {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// The points of an arrow, and the center of its label.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ArrowPath {
    pub points: Vec<(f64, f64)>,
    pub label: Option<(f64, f64)>,
}

/// A graph with positions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GraphLayout {
    pub width: f64,
    pub height: f64,
    /// Like [`GraphPicture::nodes`].
    pub nodes: Vec<LayoutBox>,
    /// Like [`GraphPicture::clusters`].
    pub clusters: Vec<LayoutBox>,
    /// The title of each frame.
    pub titles: Vec<LayoutBox>,
    /// Like [`GraphPicture::edges`].
    pub edges: Vec<ArrowPath>,
}

/// Lays a graph out.
pub(crate) fn compute_layout(graph: &GraphPicture) -> GraphLayout {
    let mut layered: Layered<NodeLabel, EdgeLabel> =
        Layered::with_options(GraphOptions { directed: true, multigraph: true, compound: true });
    let filled = find_filled_frames(graph);
    for (i, node) in graph.nodes.iter().enumerate() {
        let (width, height) = size(node);
        layered.set_node(format!("n{i}"), Some(NodeLabel { width, height, ..NodeLabel::default() }));
    }
    let down = graph.direction == ArrowDirection::Down;
    for (i, cluster) in graph.clusters.iter().enumerate().filter(|(i, _)| filled.get(*i) == Some(&true)) {
        let (width, height) = title_size(cluster);
        layered.set_node(format!("c{i}"), Some(NodeLabel::default()));
        if down {
            layered.set_node(format!("t{i}"), Some(NodeLabel { width, height, ..NodeLabel::default() }));
            layered.set_parent(&format!("t{i}"), Some(&format!("c{i}")));
        }
        if let Some(parent) = cluster.parent {
            layered.set_parent(&format!("c{i}"), Some(&format!("c{parent}")));
        }
    }
    for (i, node) in graph.nodes.iter().enumerate() {
        if let Some(cluster) = node.cluster {
            layered.set_parent(&format!("n{i}"), Some(&format!("c{cluster}")));
        }
    }
    let critical = critical(graph);
    for (i, edge) in graph.edges.iter().enumerate() {
        let weight = critical.get(i).copied().unwrap_or(1);
        let mut label = EdgeLabel { weight, labelpos: LabelPos::Center, ..EdgeLabel::default() };
        if let Some(text) = &edge.label {
            label.width = text_width(text, SMALL) + 10.0;
            label.height = SMALL * LEADING + 4.0;
        }
        layered.set_edge(format!("n{}", edge.from), format!("n{}", edge.to), Some(label), Some(&format!("e{i}")));
    }
    for (above, below) in if down { titles(graph) } else { Vec::new() } {
        let label = EdgeLabel { weight: if above.starts_with('t') { 1 } else { 0 }, ..EdgeLabel::default() };
        layered.set_edge(above, below, Some(label), Some("title"));
    }
    dagre::layout(
        &mut layered,
        Some(LayoutOptions {
            rankdir: if down { RankDir::TB } else { RankDir::LR },
            // From left to right, titles of frames need space between the rows.
            nodesep: if down || graph.clusters.is_empty() { 36.0 } else { 64.0 },
            edgesep: 18.0,
            ranksep: 40.0,
            marginx: MARGIN,
            marginy: MARGIN,
            // Of two layouts with equally many crossings, prefer the one closer to the manifest's order.
            tie_keep_first: true,
            ..LayoutOptions::default()
        }),
    );
    let mut placed = read(graph, &layered);
    if !down {
        headings(graph, &mut placed);
    }
    placed
}

/// The weight of each arrow. The arrow that determines the earliest layer of a box outweighs those that leave the box,
/// so that every box is in its earliest possible layer.
fn critical(graph: &GraphPicture) -> Vec<i32> {
    let count = graph.nodes.len();
    let (mut layer, mut from, mut out) = (vec![0u32; count], vec![None; count], vec![0i32; count]);
    let mut forward: Vec<(usize, usize, usize)> =
        graph.edges.iter().enumerate().filter(|(_, e)| e.from < e.to).map(|(i, e)| (e.from, e.to, i)).collect();
    forward.sort_unstable();
    for (a, b, i) in forward {
        let next = layer.get(a).copied().unwrap_or(0) + 1;
        if let (Some(layer), Some(from)) = (layer.get_mut(b), from.get_mut(b))
            && (*layer < next || from.is_none())
        {
            (*layer, *from) = ((*layer).max(next), Some(i));
        }
        if let Some(out) = out.get_mut(a) {
            *out += 1;
        }
    }
    let mut weights = vec![1; graph.edges.len()];
    for (node, edge) in from.into_iter().enumerate() {
        if let Some(weight) = edge.and_then(|e: usize| weights.get_mut(e)) {
            *weight = 2 + out.get(node).copied().unwrap_or(0);
        }
    }
    weights
}

/// From left to right, a title cannot be a box before the others, so each frame is extended upwards by the lines of its
/// title.
fn headings(graph: &GraphPicture, placed: &mut GraphLayout) {
    for (index, cluster) in graph.clusters.iter().enumerate().rev() {
        let (width, height) = title_size(cluster);
        let inner: Vec<f64> = graph
            .clusters
            .iter()
            .zip(&placed.clusters)
            .filter(|(c, p)| c.parent == Some(index) && p.width > 0.0)
            .map(|(_, p)| p.y - p.height / 2.0 - PADDING / 2.0)
            .collect();
        let (Some(frame), Some(title)) = (placed.clusters.get_mut(index), placed.titles.get_mut(index)) else {
            continue;
        };
        if frame.width <= 0.0 {
            continue;
        }
        let bottom = frame.y + frame.height / 2.0;
        let content = inner.into_iter().fold(frame.y - frame.height / 2.0, f64::min);
        let top = content - height - PADDING / 2.0;
        (frame.y, frame.height) = (f64::midpoint(top, bottom), bottom - top);
        frame.width = frame.width.max(width + 2.0 * PADDING);
        *title = LayoutBox { x: frame.x, y: top + PADDING / 2.0 + height / 2.0, width, height };
    }
    let tops = placed.clusters.iter().filter(|p| p.width > 0.0).map(|p| p.y - p.height / 2.0);
    let lefts = placed.clusters.iter().filter(|p| p.width > 0.0).map(|p| p.x - p.width / 2.0);
    let down = (MARGIN - tops.fold(MARGIN, f64::min)).max(0.0);
    let right = (MARGIN - lefts.fold(MARGIN, f64::min)).max(0.0);
    for place in placed.nodes.iter_mut().chain(&mut placed.clusters).chain(&mut placed.titles) {
        (place.x, place.y) = (place.x + right, place.y + down);
    }
    for way in &mut placed.edges {
        for point in way.points.iter_mut().chain(&mut way.label) {
            *point = (point.0 + right, point.1 + down);
        }
    }
    let edge = placed.clusters.iter().map(|p| p.x + p.width / 2.0 + MARGIN).fold(0.0, f64::max);
    placed.width = (placed.width + right).max(edge);
    placed.height += down;
}

/// Which frames contain a box at any depth.
fn find_filled_frames(graph: &GraphPicture) -> Vec<bool> {
    let mut filled = vec![false; graph.clusters.len()];
    for node in &graph.nodes {
        let mut at = node.cluster;
        while let Some(cluster) = at {
            match filled.get_mut(cluster) {
                Some(f) if !*f => *f = true,
                _ => break,
            }
            at = graph.clusters.get(cluster).and_then(|c| c.parent);
        }
    }
    filled
}

/// Which boxes must be above which because of titles. A title is above the titles of the frames directly in its frame,
/// and above those boxes of its frame to which no arrow from inside leads; it is below the boxes that lead into the
/// frame.
fn titles(graph: &GraphPicture) -> Vec<(String, String)> {
    let filled = find_filled_frames(graph);
    let mut all = Vec::new();
    for cluster in (0..graph.clusters.len()).filter(|c| filled.get(*c) == Some(&true)) {
        let inside = |mut at: Option<usize>| {
            while let Some(c) = at {
                if c == cluster {
                    return true;
                }
                at = graph.clusters.get(c).and_then(|c| c.parent);
            }
            false
        };
        let members: Vec<usize> =
            (0..graph.nodes.len()).filter(|n| graph.nodes.get(*n).is_some_and(|n| inside(n.cluster))).collect();
        let direct = |n: &usize| graph.nodes.get(*n).is_some_and(|n| n.cluster == Some(cluster));
        let first = |n: &usize| !graph.edges.iter().any(|e| e.to == *n && e.from < e.to && members.contains(&e.from));
        let firsts: Vec<usize> = members.iter().copied().filter(|n| direct(n) && first(n)).collect();
        all.extend(firsts.iter().map(|n| (format!("t{cluster}"), format!("n{n}"))));
        let into =
            graph.edges.iter().filter(|e| e.from < e.to && members.contains(&e.to) && !members.contains(&e.from));
        for edge in into {
            let pair = (format!("n{}", edge.from), format!("t{cluster}"));
            if !all.contains(&pair) {
                all.push(pair);
            }
        }
        for (inner, c) in graph.clusters.iter().enumerate() {
            if c.parent == Some(cluster) && filled.get(inner) == Some(&true) {
                all.push((format!("t{cluster}"), format!("t{inner}")));
            }
        }
    }
    all
}

fn read(graph: &GraphPicture, layered: &Layered<NodeLabel, EdgeLabel>) -> GraphLayout {
    let place = |name: String| {
        layered.node(&name).map_or_else(LayoutBox::default, |n| LayoutBox {
            x: n.x.unwrap_or(0.0),
            y: n.y.unwrap_or(0.0),
            width: n.width,
            height: n.height,
        })
    };
    let mut layout = GraphLayout {
        nodes: (0..graph.nodes.len()).map(|i| place(format!("n{i}"))).collect(),
        clusters: (0..graph.clusters.len()).map(|i| place(format!("c{i}"))).collect(),
        titles: (0..graph.clusters.len()).map(|i| place(format!("t{i}"))).collect(),
        ..GraphLayout::default()
    };
    for (i, edge) in graph.edges.iter().enumerate() {
        let label = layered.edge(&format!("n{}", edge.from), &format!("n{}", edge.to), Some(&format!("e{i}")));
        let Some(label) = label else {
            layout.edges.push(ArrowPath::default());
            continue;
        };
        let mut points: Vec<(f64, f64)> = label.points.iter().map(|p| (p.x, p.y)).collect();
        if edge.from != edge.to
            && let (Some(from), Some(to)) = (layout.nodes.get(edge.from), layout.nodes.get(edge.to))
        {
            let back = points.len().saturating_sub(2);
            let (first, last) = (points.get(1).copied(), points.get(back).copied());
            if let (Some(next), Some(end)) = (first, points.first_mut()) {
                *end = dock(from, next, graph.direction);
            }
            if let (Some(before), Some(end)) = (last, points.last_mut()) {
                *end = dock(to, before, graph.direction);
            }
        }
        layout.edges.push(ArrowPath { points, label: edge.label.as_ref().and(label.x.zip(label.y)) });
    }
    let right = |p: &LayoutBox| p.x + p.width / 2.0;
    let bottom = |p: &LayoutBox| p.y + p.height / 2.0;
    let places = || layout.nodes.iter().chain(&layout.clusters);
    let points = || layout.edges.iter().flat_map(|e| e.points.iter());
    let labels = layout.edges.iter().zip(&graph.edges).filter_map(|(way, edge)| {
        let (x, _) = way.label?;
        Some(x + edge.label.as_ref().map_or(0.0, |t| text_width(t, SMALL)) / 2.0)
    });
    layout.width = places().map(right).chain(points().map(|p| p.0)).chain(labels).fold(0.0, f64::max) + MARGIN;
    layout.height = places().map(bottom).chain(points().map(|p| p.1)).fold(0.0, f64::max) + MARGIN;
    layout
}

/// Where an arrow meets a box: on the side towards the other layer, close to the other end of the arrow.
fn dock(node: &LayoutBox, other: (f64, f64), direction: ArrowDirection) -> (f64, f64) {
    if direction == ArrowDirection::Right {
        let reach = (node.height / 2.0 - 8.0).max(0.0);
        let y = other.1.clamp(node.y - reach, node.y + reach);
        let side = if other.0 >= node.x { 1.0 } else { -1.0 };
        return (node.x + side * node.width / 2.0, y);
    }
    let reach = (node.width / 2.0 - 14.0).max(0.0);
    let x = other.0.clamp(node.x - reach, node.x + reach);
    let side = if other.1 >= node.y { 1.0 } else { -1.0 };
    (x, node.y + side * node.height / 2.0)
}

fn size(node: &GraphBox) -> (f64, f64) {
    let widest = node.notes.iter().map(|n| text_width(n, SMALL)).fold(text_width(&node.title, TITLE), f64::max);
    let height = TITLE * LEADING + node.notes.len() as f64 * SMALL * LEADING + PADDING;
    match node.shape {
        BoxShape::Join => (12.0, 12.0),
        // The text of a diamond is in the middle half.
        BoxShape::Choice => (widest + 60.0, height + 24.0),
        BoxShape::Start | BoxShape::End => (widest + 2.0 * PADDING + 12.0, height),
        _ => (widest.max(48.0) + 2.0 * PADDING, height),
    }
}

fn title_size(cluster: &GraphFrame) -> (f64, f64) {
    let lines = heading_lines(cluster);
    let widest = lines.iter().map(|(line, _)| text_width(line, SMALL + 1.0)).fold(0.0, f64::max);
    (widest, lines.len() as f64 * (SMALL + 1.0) * LEADING)
}

/// The lines of a frame's title, and whether each belongs to the title or to the note below it.
pub(crate) fn heading_lines(cluster: &GraphFrame) -> Vec<(String, bool)> {
    let mut all: Vec<(String, bool)> = wrap_text(&cluster.title).into_iter().map(|line| (line, true)).collect();
    all.extend(wrap_text(&cluster.note).into_iter().map(|line| (line, false)));
    all
}

/// A text wrapped to lines of about one width, at word boundaries.
fn wrap_text(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), SMALL + 1.0) <= HEADING => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The approximate width of a text in a common sans-serif font; rather too wide than too narrow.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let em: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '\'' | '|' | '.' | ',' | ':' | ';' | '!' | 'I' | ' ' | 'f' | 't' | '/' | '[' | ']' => 0.3,
            '(' | ')' | 'r' | '-' | '{' | '}' | '"' | '`' | '\\' => 0.36,
            'm' | 'M' | 'W' | '@' | '%' | '…' => 0.95,
            'w' | 'A'..='Z' | '+' | '=' | '<' | '>' | '~' | '&' => 0.72,
            '\u{1100}'.. => 1.05,
            _ => 0.57,
        })
        .sum();
    em * size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ArrowMeaning, GraphArrow};

    /// Graphs of every form: nested frames, loops, arrows to the same box, unconnected parts.
    fn random(seed: u64) -> GraphPicture {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = move |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % n.max(1)
        };
        let clusters = next(6);
        let nodes = 1 + next(20);
        let mut graph = GraphPicture { title: "random".to_owned(), ..GraphPicture::default() };
        for i in 0..clusters {
            let parent = (i > 0 && next(2) == 0).then(|| next(i) as usize);
            graph.clusters.push(GraphFrame {
                title: format!("frame {i}"),
                note: "note".to_owned(),
                parent,
                place: None,
                origins: Vec::new(),
            });
        }
        for i in 0..nodes {
            let cluster = (clusters > 0 && next(3) > 0).then(|| next(clusters) as usize);
            graph.nodes.push(GraphBox {
                shape: if next(5) == 0 { BoxShape::Choice } else { BoxShape::Agent },
                title: format!("node {i}"),
                notes: vec!["x".repeat(next(40) as usize); next(4) as usize],
                cluster,
                optional: false,
                place: None,
                origins: Vec::new(),
            });
        }
        for _ in 0..next(nodes * 2) {
            let (from, to) = (next(nodes) as usize, next(nodes) as usize);
            let label = (next(2) == 0).then(|| "label".repeat(next(5) as usize));
            graph.edges.push(GraphArrow { from, to, label, line: ArrowMeaning::Then });
        }
        graph
    }

    #[test]
    fn every_graph_gets_a_place_for_everything() {
        for seed in 0..120 {
            let mut graph = random(seed / 2);
            if seed % 2 == 1 {
                graph.direction = ArrowDirection::Right;
            }
            let layout = compute_layout(&graph);
            assert_eq!(layout, super::compute_layout(&graph), "seed {seed}: the same again");
            for (i, place) in layout.nodes.iter().enumerate() {
                let (w, h) = size(&graph.nodes[i]);
                assert!(place.x - w / 2.0 >= -0.5 && place.y - h / 2.0 >= -0.5, "seed {seed}: node {i} at {place:?}");
                assert!(place.x + w / 2.0 <= layout.width && place.y + h / 2.0 <= layout.height, "seed {seed}");
                for (j, other) in layout.nodes.iter().enumerate().skip(i + 1) {
                    let apart = (place.x - other.x).abs() * 2.0 >= place.width + other.width - 0.5
                        || (place.y - other.y).abs() * 2.0 >= place.height + other.height - 0.5;
                    assert!(apart, "seed {seed}: nodes {i} and {j} overlap: {place:?} {other:?}");
                }
                let mut at = graph.nodes[i].cluster;
                while let Some(c) = at {
                    let frame = layout.clusters[c];
                    assert!(
                        (place.x - frame.x).abs() * 2.0 + place.width <= frame.width + 0.5,
                        "seed {seed}: node {i} sticks out of frame {c}"
                    );
                    at = graph.clusters[c].parent;
                }
            }
        }
    }
}
