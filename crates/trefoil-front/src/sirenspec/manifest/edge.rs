//! `edges`: transitions between nodes, with conditions.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{YamlEntry, YamlNode, YamlText};

use crate::{ManifestReader, MappingReader};

/// An edge.
#[derive(Debug, Clone)]
pub struct SirenEdge<'n> {
    /// The source node.
    pub from: &'n YamlText,
    /// The target node.
    pub to: &'n YamlText,
    /// Its condition; `None`: always.
    pub when: Option<&'n YamlText>,
    /// The whole entry.
    pub node: &'n YamlNode,
}

/// The entries of `edges`.
pub fn read_edges<'n>(fields: &mut MappingReader<'n, '_>) -> Vec<SirenEdge<'n>> {
    let reader = fields.reader;
    fields.read_list("edges").unwrap_or_default().iter().filter_map(|item| one(reader, item)).collect()
}

fn one<'n>(reader: &ManifestReader<'_>, item: &'n YamlNode) -> Option<SirenEdge<'n>> {
    let mut fields = reader.read_mapping(item, "an edge")?;
    fields.set_deciding_keys(&[("when", "the edge is always taken")]);
    fields.also_called(&[("source", "from"), ("target", "to"), ("if", "when"), ("condition", "when")]);
    let from = end(&mut fields, "from", "from_node");
    let to = end(&mut fields, "to", "to_node");
    // `when: true` is a boolean in YAML, but an expression here.
    let when = fields.take("when").and_then(|entry| match entry.value.as_scalar() {
        Some((_, text)) => Some(text),
        None => {
            reader.wrong_type(&entry.value, "when", "an expression");
            None
        }
    });
    fields.finish_mapping();
    Some(SirenEdge { from: from?, to: to?, when, node: item })
}

fn end<'n>(fields: &mut MappingReader<'n, '_>, key: &'static str, long: &'static str) -> Option<&'n YamlText> {
    let reader = fields.reader;
    let entry: &'n YamlEntry = match (fields.take(key), fields.take(long)) {
        (Some(first), Some(second)) => {
            reader.report_finding(
                Diagnostic::new_error(
                    "conflicting-keys",
                    reader.location_of(second.key.span),
                    format!("`{key}` and `{long}` are the same key"),
                )
                .with_label(reader.location_of(first.key.span), "the other one"),
            );
            first
        }
        (Some(entry), None) | (None, Some(entry)) => entry,
        (None, None) => fields.require_entry(key)?,
    };
    reader.read_text(&entry.value, key)
}
