//! Mermaid flowcharts, a text format that GitHub, GitLab and many editors render.

use std::fmt::Write as _;

use super::{ArrowDirection, ArrowMeaning, BoxShape, GraphBox, GraphPicture};

/// The graph as a Mermaid flowchart.
pub fn write_mermaid(graph: &GraphPicture) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "---\ntitle: {}\n---\nflowchart {}", yaml(&graph.title), direction(graph));
    nodes(graph, None, 1, &mut out);
    for edge in &graph.edges {
        let arrow = match edge.line {
            ArrowMeaning::Then => "-->",
            ArrowMeaning::Again | ArrowMeaning::Failure => "-.->",
        };
        let label = match &edge.label {
            Some(label) => format!("|\"{}\"|", text(label)),
            None => String::new(),
        };
        let _ = writeln!(out, "  n{} {arrow}{label} n{}", edge.from, edge.to);
    }
    let mut optional = Vec::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        if node.optional {
            optional.push(format!("n{index}"));
        }
    }
    if !optional.is_empty() {
        let _ = writeln!(out, "  class {} optional", optional.join(","));
    }
    for (class, style) in CLASSES {
        let _ = writeln!(out, "  classDef {class} {style}");
    }
    out
}

/// Colours that are readable on light and dark pages.
const CLASSES: &[(&str, &str)] = &[
    ("agent", "fill:#e8f0fe,stroke:#3b6fd4,color:#111"),
    ("tool", "fill:#e6f4ea,stroke:#2f8f4e,color:#111"),
    ("command", "fill:#fef3e0,stroke:#b7791f,color:#111"),
    ("human", "fill:#fce8f3,stroke:#b83280,color:#111"),
    ("plain", "fill:#f5f5f5,stroke:#888,color:#111"),
    ("refused", "fill:#fdecea,stroke:#c53030,color:#111,stroke-dasharray:4 3"),
    ("optional", "stroke-dasharray:4 3"),
];

/// The boxes and frames directly in a frame.
fn nodes(graph: &GraphPicture, parent: Option<usize>, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    for (index, node) in graph.nodes.iter().enumerate() {
        if node.cluster == parent {
            let _ = writeln!(out, "{indent}{}", boxed(index, node));
        }
    }
    for (index, cluster) in graph.clusters.iter().enumerate() {
        if cluster.parent != parent {
            continue;
        }
        // On one line, because Mermaid renderers cut off the second line of a frame's title.
        let note = if cluster.note.is_empty() { String::new() } else { format!(": {}", text(&cluster.note)) };
        let _ = writeln!(out, "{indent}subgraph c{index}[\"{}{note}\"]", text(&cluster.title));
        nodes(graph, Some(index), depth + 1, out);
        let _ = writeln!(out, "{indent}end");
    }
}

fn direction(graph: &GraphPicture) -> &'static str {
    match graph.direction {
        ArrowDirection::Down => "TD",
        ArrowDirection::Right => "LR",
    }
}

fn boxed(index: usize, node: &GraphBox) -> String {
    if node.shape == BoxShape::Join {
        return format!("n{index}(( )):::plain");
    }
    let notes: Vec<String> = node.notes.iter().map(|n| format!("<br/><small>{}</small>", text(n))).collect();
    let label = format!("{}{}", text(&node.title), notes.concat());
    let (open, close, class) = match node.shape {
        BoxShape::Start | BoxShape::End => ("([", "])", "plain"),
        BoxShape::Agent => ("[", "]", "agent"),
        BoxShape::Tool => ("[/", "/]", "tool"),
        BoxShape::Command => ("[[", "]]", "command"),
        BoxShape::Human => ("[\\", "/]", "human"),
        BoxShape::Plain | BoxShape::Flow | BoxShape::Join => ("[", "]", "plain"),
        BoxShape::Choice => ("{", "}", "plain"),
        BoxShape::Refused => ("[", "]", "refused"),
    };
    format!("n{index}{open}\"{label}\"{close}:::{class}")
}

/// Text in which every character that is special in Mermaid is a character reference.
fn text(raw: &str) -> String {
    let mut out = String::new();
    for c in raw.chars() {
        match c {
            'a'..='z'
            | 'A'..='Z'
            | '0'..='9'
            | ' '
            | '.'
            | ','
            | '_'
            | '-'
            | ':'
            | '/'
            | '('
            | ')'
            | '\''
            | '+'
            | '?' => {
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c if c.is_ascii() => {
                let _ = write!(out, "#{};", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// The title in the front matter.
fn yaml(raw: &str) -> String {
    serde_json::Value::from(raw).to_string()
}
