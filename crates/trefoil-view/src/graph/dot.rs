//! Graphviz dot.

use std::fmt::Write as _;

use super::{Direction, Graph, Line, Node, Shape};

/// The graph in the dot language.
pub fn dot(graph: &Graph) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph {} {{", quoted(&graph.title));
    let _ = writeln!(out, "  label={}; labelloc=t; compound=true;", quoted(&graph.title));
    if graph.direction == Direction::Right {
        out.push_str("  rankdir=LR;\n");
    }
    out.push_str("  fontname=\"Helvetica\"; node [fontname=\"Helvetica\", shape=box, style=\"rounded,filled\", fillcolor=white];\n");
    out.push_str("  edge [fontname=\"Helvetica\", fontsize=10];\n");
    nodes(graph, None, 1, &mut out);
    for edge in &graph.edges {
        let mut attributes = Vec::new();
        if let Some(label) = &edge.label {
            attributes.push(format!("label={}", quoted(label)));
        }
        match edge.line {
            Line::Then => {}
            Line::Again => attributes.push("style=dashed, constraint=false".to_owned()),
            Line::Failure => attributes.push("style=dashed, color=\"#c53030\"".to_owned()),
        }
        let attributes = if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
        let _ = writeln!(out, "  n{} -> n{}{attributes};", edge.from, edge.to);
    }
    out.push_str("}\n");
    out
}

fn nodes(graph: &Graph, parent: Option<usize>, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    for (index, node) in graph.nodes.iter().enumerate().filter(|(_, n)| n.cluster == parent) {
        let _ = writeln!(out, "{indent}n{index} [{}];", attributes(node));
    }
    for (index, cluster) in graph.clusters.iter().enumerate().filter(|(_, c)| c.parent == parent) {
        let title = if cluster.note.is_empty() {
            cluster.title.clone()
        } else {
            format!("{}\n{}", cluster.title, cluster.note)
        };
        let _ = writeln!(
            out,
            "{indent}subgraph cluster_{index} {{\n{indent}  label={}; style=\"rounded\"; color=\"#999999\"; fontsize=11;",
            quoted(&title)
        );
        nodes(graph, Some(index), depth + 1, out);
        let _ = writeln!(out, "{indent}}}");
    }
}

fn attributes(node: &Node) -> String {
    if node.shape == Shape::Join {
        return "label=\"\", shape=point".to_owned();
    }
    let label = std::iter::once(&node.title).chain(&node.notes).cloned().collect::<Vec<_>>().join("\n");
    let (shape, fill) = match node.shape {
        Shape::Start | Shape::End => ("ellipse", "#f5f5f5"),
        Shape::Agent => ("box", "#e8f0fe"),
        Shape::Tool => ("component", "#e6f4ea"),
        Shape::Command => ("cds", "#fef3e0"),
        Shape::Human => ("invtrapezium", "#fce8f3"),
        Shape::Plain | Shape::Join => ("box", "#f5f5f5"),
        Shape::Flow => ("box3d", "#f5f5f5"),
        Shape::Choice => ("diamond", "#f5f5f5"),
        Shape::Refused => ("octagon", "#fdecea"),
    };
    let style = match (node.shape, node.optional) {
        (Shape::Agent | Shape::Plain, false) => "rounded,filled",
        (Shape::Agent | Shape::Plain, true) => "rounded,filled,dashed",
        (_, false) => "filled",
        (_, true) => "filled,dashed",
    };
    format!("label={}, shape={shape}, style=\"{style}\", fillcolor=\"{fill}\"", quoted(&label))
}

/// A quoted string, in which only `"` and `\` are special.
fn quoted(raw: &str) -> String {
    let mut out = String::from("\"");
    for c in raw.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
