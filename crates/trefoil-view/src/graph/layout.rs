//! Computes the positions of boxes, frames and arrows: layered, top to bottom or left to right.
//!
//! Uses `dagre` for layering. It does not support titles of frames, so each frame gets an invisible box for its title,
//! placed above the first boxes in the frame.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

use dagre::graph::{Graph as Layered, GraphOptions};
use dagre::layout::types::LabelPos;
use dagre::{EdgeLabel, LayoutOptions, NodeLabel, RankDir, Ranker};

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

/// More boxes than this are ranked by a rougher and much faster method: 1,000 boxes with 3,300 arrows take 1 second instead of 13.
const FINELY_RANKED: usize = 150;
/// How many layouts of large graphs are remembered.
const REMEMBERED: usize = 8;

/// Layouts of large graphs, the last one used last: the trace of a run is asked for again and again.
static KNOWN: Mutex<Vec<(GraphPicture, Arc<GraphLayout>)>> = Mutex::new(Vec::new());

/// The layout of a graph. That of a large one is remembered.
pub(crate) fn find_layout(graph: &GraphPicture) -> Arc<GraphLayout> {
    if graph.nodes.len() <= FINELY_RANKED {
        return Arc::new(compute_layout(graph));
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(position) = known.iter().position(|(picture, _)| picture == graph) {
        let found = known.remove(position);
        let layout = found.1.clone();
        known.push(found);
        return layout;
    }
    // Others wait: they may want the same one, and several at once would take all threads for such work.
    let layout = Arc::new(compute_deep_layout(graph));
    if known.len() >= REMEMBERED {
        known.remove(0);
    }
    known.push((graph.clone(), layout.clone()));
    layout
}

/// The stack for the layout of a large graph, in bytes: it descends into each box after the one before it.
const DEEP_STACK: usize = 256 << 20;

/// The layout of a large graph, on a thread whose stack is deep enough for it.
fn compute_deep_layout(graph: &GraphPicture) -> GraphLayout {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("layout".to_owned()).stack_size(DEEP_STACK);
        // A layout that fails there fails here: nobody gets an empty picture instead, and none is remembered.
        match thread.spawn_scoped(scope, || compute_layout(graph)) {
            Err(error) => resume_unwind(Box::new(error)),
            Ok(running) => running.join().unwrap_or_else(|panic| resume_unwind(panic)),
        }
    })
}

/// Lays a graph out.
fn compute_layout(graph: &GraphPicture) -> GraphLayout {
    let mut layered: Layered<NodeLabel, EdgeLabel> =
        Layered::with_options(GraphOptions { directed: true, multigraph: true, compound: true });
    let filled = find_filled_frames(graph);
    for (i, node) in graph.nodes.iter().enumerate() {
        let (width, height) = size(node);
        layered.set_node(format!("n{i}"), Some(NodeLabel { width, height, ..NodeLabel::default() }));
    }
    let down = graph.direction == ArrowDirection::Down;
    for (i, cluster) in graph.clusters.iter().enumerate() {
        if filled.get(i) != Some(&true) {
            continue;
        }
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
            ranker: if graph.nodes.len() > FINELY_RANKED { Ranker::TightTree } else { Ranker::NetworkSimplex },
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

/// The size of a graph whose boxes are in their earliest possible layers.
pub(super) struct LayerCounts {
    /// How many layers all arrows cross together.
    pub crossed: usize,
    /// The most boxes in a layer.
    pub widest: usize,
}

/// Counts the layers of a graph.
pub(super) fn count_layers(graph: &GraphPicture) -> LayerCounts {
    let layers = earliest_layers(graph, &forward_arrows(graph));
    let layer_of = |node: usize| layers.get(node).copied().unwrap_or(0);
    let crossed = graph.edges.iter().map(|edge| layer_of(edge.to).abs_diff(layer_of(edge.from)).max(1)).sum();
    let mut boxes: BTreeMap<usize, usize> = BTreeMap::new();
    for layer in &layers {
        *boxes.entry(*layer).or_default() += 1;
    }
    LayerCounts { crossed, widest: boxes.into_values().max().unwrap_or(0) }
}

/// The arrows that do not lead back, in the order of the boxes: from, to, and the index of the arrow.
fn forward_arrows(graph: &GraphPicture) -> Vec<(usize, usize, usize)> {
    let mut forward = Vec::new();
    for (i, edge) in graph.edges.iter().enumerate() {
        if edge.from < edge.to {
            forward.push((edge.from, edge.to, i));
        }
    }
    forward.sort_unstable();
    forward
}

/// The earliest possible layer of each box.
fn earliest_layers(graph: &GraphPicture, forward: &[(usize, usize, usize)]) -> Vec<usize> {
    let mut layers = vec![0; graph.nodes.len()];
    for &(from, to, _) in forward {
        let next = layers.get(from).copied().unwrap_or(0) + 1;
        if let Some(layer) = layers.get_mut(to) {
            *layer = next.max(*layer);
        }
    }
    layers
}

/// The weight of each arrow. The arrow that determines the earliest layer of a box outweighs those that leave the box,
/// so that every box is in its earliest possible layer.
fn critical(graph: &GraphPicture) -> Vec<i32> {
    let forward = forward_arrows(graph);
    let layers = earliest_layers(graph, &forward);
    let (mut from, mut out) = (vec![None; graph.nodes.len()], vec![0i32; graph.nodes.len()]);
    for (a, b, i) in forward {
        let next = layers.get(a).copied().unwrap_or(0) + 1;
        if layers.get(b) == Some(&next)
            && let Some(from @ None) = from.get_mut(b)
        {
            *from = Some(i);
        }
        if let Some(out) = out.get_mut(a) {
            *out += 1;
        }
    }
    let mut weights = vec![1; graph.edges.len()];
    for (node, edge) in from.into_iter().enumerate() {
        if let Some(edge) = edge
            && let Some(weight) = weights.get_mut(edge)
        {
            *weight = 2 + out.get(node).copied().unwrap_or(0);
        }
    }
    weights
}

/// From left to right, a title cannot be a box before the others, so each frame is extended upwards by the lines of its
/// title.
fn headings(graph: &GraphPicture, placed: &mut GraphLayout) {
    for (index, cluster) in graph.clusters.iter().enumerate().rev() {
        let content = content_top(graph, placed, index);
        let (Some(frame), Some(title)) = (placed.clusters.get_mut(index), placed.titles.get_mut(index)) else {
            continue;
        };
        if frame.width <= 0.0 {
            continue;
        }
        let (width, height) = title_size(cluster);
        let bottom = frame.y + frame.height / 2.0;
        let top = content.min(frame.y - frame.height / 2.0) - height - PADDING / 2.0;
        (frame.y, frame.height) = (f64::midpoint(top, bottom), bottom - top);
        frame.width = frame.width.max(width + 2.0 * PADDING);
        *title = LayoutBox { x: frame.x, y: top + PADDING / 2.0 + height / 2.0, width, height };
    }
    move_inside(placed);
}

/// The top of the highest frame directly in a frame, with a distance.
fn content_top(graph: &GraphPicture, placed: &GraphLayout, index: usize) -> f64 {
    let mut top = f64::INFINITY;
    for (inner, place) in graph.clusters.iter().zip(&placed.clusters) {
        if inner.parent == Some(index) && place.width > 0.0 {
            top = top.min(place.y - place.height / 2.0 - PADDING / 2.0);
        }
    }
    top
}

/// Moves everything right and down until no frame is outside of the picture, and enlarges the picture.
fn move_inside(placed: &mut GraphLayout) {
    let (mut top, mut left) = (MARGIN, MARGIN);
    for frame in &placed.clusters {
        if frame.width > 0.0 {
            top = top.min(frame.y - frame.height / 2.0);
            left = left.min(frame.x - frame.width / 2.0);
        }
    }
    let (right, down) = ((MARGIN - left).max(0.0), (MARGIN - top).max(0.0));
    for places in [&mut placed.nodes, &mut placed.clusters, &mut placed.titles] {
        for place in places {
            (place.x, place.y) = (place.x + right, place.y + down);
        }
    }
    for way in &mut placed.edges {
        for point in way.points.iter_mut().chain(&mut way.label) {
            *point = (point.0 + right, point.1 + down);
        }
    }
    let mut edge: f64 = 0.0;
    for frame in &placed.clusters {
        edge = edge.max(frame.x + frame.width / 2.0 + MARGIN);
    }
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
            at = parent_frame(graph, cluster);
        }
    }
    filled
}

fn parent_frame(graph: &GraphPicture, cluster: usize) -> Option<usize> {
    graph.clusters.get(cluster)?.parent
}

/// Whether a frame is another one or in it, at any depth.
fn is_inside(graph: &GraphPicture, mut at: Option<usize>, cluster: usize) -> bool {
    while let Some(frame) = at {
        if frame == cluster {
            return true;
        }
        at = parent_frame(graph, frame);
    }
    false
}

/// Which boxes must be above which because of titles. A title is above the titles of the frames directly in its frame,
/// and above those boxes of its frame to which no arrow from inside leads; it is below the boxes that lead into the
/// frame.
fn titles(graph: &GraphPicture) -> Vec<(String, String)> {
    let filled = find_filled_frames(graph);
    let mut all = Vec::new();
    for cluster in 0..graph.clusters.len() {
        if filled.get(cluster) != Some(&true) {
            continue;
        }
        let mut members: Vec<usize> = Vec::new();
        for (n, node) in graph.nodes.iter().enumerate() {
            if is_inside(graph, node.cluster, cluster) {
                members.push(n);
            }
        }
        for n in &members {
            let is_direct = matches!(graph.nodes.get(*n), Some(node) if node.cluster == Some(cluster));
            let follows = graph.edges.iter().any(|e| e.to == *n && e.from < e.to && members.contains(&e.from));
            if is_direct && !follows {
                all.push((format!("t{cluster}"), format!("n{n}")));
            }
        }
        for edge in &graph.edges {
            if edge.from < edge.to && members.contains(&edge.to) && !members.contains(&edge.from) {
                let pair = (format!("n{}", edge.from), format!("t{cluster}"));
                if !all.contains(&pair) {
                    all.push(pair);
                }
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
    let mut layout = GraphLayout::default();
    for i in 0..graph.nodes.len() {
        layout.nodes.push(read_box(layered, &format!("n{i}")));
    }
    for i in 0..graph.clusters.len() {
        layout.clusters.push(read_box(layered, &format!("c{i}")));
        layout.titles.push(read_box(layered, &format!("t{i}")));
    }
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
            dock_ends(&mut points, from, to, graph.direction);
        }
        let label = match (&edge.label, label.x, label.y) {
            (Some(_), Some(x), Some(y)) => Some((x, y)),
            _ => None,
        };
        layout.edges.push(ArrowPath { points, label });
    }
    measure(graph, &mut layout);
    layout
}

fn read_box(layered: &Layered<NodeLabel, EdgeLabel>, name: &str) -> LayoutBox {
    let Some(node) = layered.node(name) else { return LayoutBox::default() };
    LayoutBox { x: node.x.unwrap_or(0.0), y: node.y.unwrap_or(0.0), width: node.width, height: node.height }
}

/// Sets the size of the picture, so that boxes, frames, arrows and labels are in it.
fn measure(graph: &GraphPicture, layout: &mut GraphLayout) {
    let (mut width, mut height): (f64, f64) = (0.0, 0.0);
    for places in [&layout.nodes, &layout.clusters] {
        for place in places {
            width = width.max(place.x + place.width / 2.0);
            height = height.max(place.y + place.height / 2.0);
        }
    }
    for (way, edge) in layout.edges.iter().zip(&graph.edges) {
        for (x, y) in &way.points {
            width = width.max(*x);
            height = height.max(*y);
        }
        if let (Some((x, _)), Some(text)) = (way.label, &edge.label) {
            width = width.max(x + text_width(text, SMALL) / 2.0);
        }
    }
    (layout.width, layout.height) = (width + MARGIN, height + MARGIN);
}

/// Moves both ends of an arrow to where it meets its boxes.
fn dock_ends(points: &mut [(f64, f64)], from: &LayoutBox, to: &LayoutBox, direction: ArrowDirection) {
    let back = points.len().saturating_sub(2);
    let (second, second_last) = (points.get(1).copied(), points.get(back).copied());
    if let (Some(next), Some(end)) = (second, points.first_mut()) {
        *end = dock(from, next, direction);
    }
    if let (Some(before), Some(end)) = (second_last, points.last_mut()) {
        *end = dock(to, before, direction);
    }
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
    let mut widest = text_width(&node.title, TITLE);
    for note in &node.notes {
        widest = widest.max(text_width(note, SMALL));
    }
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
    let mut widest: f64 = 0.0;
    for (line, _) in &lines {
        widest = widest.max(text_width(line, SMALL + 1.0));
    }
    (widest, lines.len() as f64 * (SMALL + 1.0) * LEADING)
}

/// The lines of a frame's title, and whether each belongs to the title or to the note below it.
pub(crate) fn heading_lines(cluster: &GraphFrame) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    for line in wrap_text(&cluster.title) {
        all.push((line, true));
    }
    for line in wrap_text(&cluster.note) {
        all.push((line, false));
    }
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
    let em: f64 = text.chars().map(char_width).sum();
    em * size
}

fn char_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '\'' | '|' | '.' | ',' | ':' | ';' | '!' | 'I' | ' ' | 'f' | 't' | '/' | '[' | ']' => 0.3,
        '(' | ')' | 'r' | '-' | '{' | '}' | '"' | '`' | '\\' => 0.36,
        'm' | 'M' | 'W' | '@' | '%' | '…' => 0.95,
        'w' | 'A'..='Z' | '+' | '=' | '<' | '>' | '~' | '&' => 0.72,
        '\u{1100}'.. => 1.05,
        _ => 0.57,
    }
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
