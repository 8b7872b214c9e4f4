//! Graphviz dot.

use std::fmt::Write as _;

use super::{ArrowDirection, ArrowMeaning, BoxShape, GraphBox, GraphPicture};

/// The graph in the dot language.
pub fn write_dot(graph: &GraphPicture) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph {} {{", quote_string(&graph.title));
    let _ = writeln!(out, "  label={}; labelloc=t; compound=true;", quote_string(&graph.title));
    if graph.direction == ArrowDirection::Right {
        out.push_str("  rankdir=LR;\n");
    }
    out.push_str("  fontname=\"Helvetica\"; node [fontname=\"Helvetica\", shape=box, style=\"rounded,filled\", fillcolor=white];\n");
    out.push_str("  edge [fontname=\"Helvetica\", fontsize=10];\n");
    nodes(graph, None, 1, &mut out);
    for edge in &graph.edges {
        let mut attributes = Vec::new();
        if let Some(label) = &edge.label {
            attributes.push(format!("label={}", quote_string(label)));
        }
        match edge.line {
            ArrowMeaning::Then => {}
            ArrowMeaning::Again => attributes.push("style=dashed, constraint=false".to_owned()),
            ArrowMeaning::Failure => attributes.push("style=dashed, color=\"#c53030\"".to_owned()),
        }
        let attributes = if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
        let _ = writeln!(out, "  n{} -> n{}{attributes};", edge.from, edge.to);
    }
    out.push_str("}\n");
    out
}

fn nodes(graph: &GraphPicture, parent: Option<usize>, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    for (index, node) in graph.nodes.iter().enumerate() {
        if node.cluster == parent {
            let _ = writeln!(out, "{indent}n{index} [{}];", attributes(node));
        }
    }
    for (index, cluster) in graph.clusters.iter().enumerate() {
        if cluster.parent != parent {
            continue;
        }
        let title = if cluster.note.is_empty() {
            cluster.title.clone()
        } else {
            format!("{}\n{}", cluster.title, cluster.note)
        };
        let _ = writeln!(
            out,
            "{indent}subgraph cluster_{index} {{\n{indent}  label={}; style=\"rounded\"; color=\"#999999\"; fontsize=11;",
            quote_string(&title)
        );
        nodes(graph, Some(index), depth + 1, out);
        let _ = writeln!(out, "{indent}}}");
    }
}

fn attributes(node: &GraphBox) -> String {
    if node.shape == BoxShape::Join {
        return "label=\"\", shape=point".to_owned();
    }
    let label = std::iter::once(&node.title).chain(&node.notes).cloned().collect::<Vec<_>>().join("\n");
    let (shape, fill) = match node.shape {
        BoxShape::Start | BoxShape::End => ("ellipse", "#f5f5f5"),
        BoxShape::Agent => ("box", "#e8f0fe"),
        BoxShape::Tool => ("component", "#e6f4ea"),
        BoxShape::Command => ("cds", "#fef3e0"),
        BoxShape::Human => ("invtrapezium", "#fce8f3"),
        BoxShape::Plain | BoxShape::Join => ("box", "#f5f5f5"),
        BoxShape::Flow => ("box3d", "#f5f5f5"),
        BoxShape::Choice => ("diamond", "#f5f5f5"),
        BoxShape::Refused => ("octagon", "#fdecea"),
    };
    let style = match (node.shape, node.optional) {
        (BoxShape::Agent | BoxShape::Plain, false) => "rounded,filled",
        (BoxShape::Agent | BoxShape::Plain, true) => "rounded,filled,dashed",
        (_, false) => "filled",
        (_, true) => "filled,dashed",
    };
    format!("label={}, shape={shape}, style=\"{style}\", fillcolor=\"{fill}\"", quote_string(&label))
}

/// A quoted string, in which only `"` and `\` are special.
fn quote_string(raw: &str) -> String {
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
