//! `edges`: transitions between nodes, with conditions.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{Entry, Node, Text};

use crate::{Fields, Reader};

/// An edge.
#[derive(Debug, Clone)]
pub struct Edge<'n> {
    /// The source node.
    pub from: &'n Text,
    /// The target node.
    pub to: &'n Text,
    /// Its condition; `None`: always.
    pub when: Option<&'n Text>,
    /// The whole entry.
    pub node: &'n Node,
}

/// The entries of `edges`.
pub fn read<'n>(fields: &mut Fields<'n, '_>) -> Vec<Edge<'n>> {
    let reader = fields.reader;
    fields.list("edges").unwrap_or_default().iter().filter_map(|item| one(reader, item)).collect()
}

fn one<'n>(reader: &Reader<'_>, item: &'n Node) -> Option<Edge<'n>> {
    let mut fields = reader.fields(item, "an edge")?;
    fields.deciding(&[("when", "the edge is always taken")]);
    fields.also_called(&[("source", "from"), ("target", "to"), ("if", "when"), ("condition", "when")]);
    let from = end(&mut fields, "from", "from_node");
    let to = end(&mut fields, "to", "to_node");
    // `when: true` is a boolean in YAML, but an expression here.
    let when = fields.take("when").and_then(|entry| match entry.value.scalar() {
        Some((_, text)) => Some(text),
        None => {
            reader.wrong_type(&entry.value, "when", "an expression");
            None
        }
    });
    fields.finish();
    Some(Edge { from: from?, to: to?, when, node: item })
}

fn end<'n>(fields: &mut Fields<'n, '_>, key: &'static str, long: &'static str) -> Option<&'n Text> {
    let reader = fields.reader;
    let entry: &'n Entry = match (fields.take(key), fields.take(long)) {
        (Some(first), Some(second)) => {
            reader.report(
                Diagnostic::error(
                    "conflicting-keys",
                    reader.at(second.key.span),
                    format!("`{key}` and `{long}` are the same key"),
                )
                .label(reader.at(first.key.span), "the other one"),
            );
            first
        }
        (Some(entry), None) | (None, Some(entry)) => entry,
        (None, None) => fields.require(key)?,
    };
    reader.text(&entry.value, key)
}
