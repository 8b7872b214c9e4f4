//! Values found elsewhere in the same file: paths that are read but never written, properties that a schema can
//! require, allowed values for a default.

use std::collections::BTreeMap;

use trefoil_ir::facts::{DeclarationKind, ValuePresence};
use trefoil_syntax::FileId;
use trefoil_syntax::yaml::{YamlNode, YamlScalar};

use super::{CompletionItem, CompletionKind};
use crate::analysis::FolderAnalysis;
use crate::cursor::{PathStep, TreePosition, node_at};

/// The trees of state that nodes write to.
const WRITTEN: [&str; 2] = ["working", "output"];

/// The paths that a node may write to: those that are read but not written yet, those with its own name, those that
/// other nodes write.
pub fn writable_paths(analysis: &FolderAnalysis, file: FileId, spot: &TreePosition<'_>) -> Vec<CompletionItem> {
    let mut found: BTreeMap<String, bool> = BTreeMap::new();
    let text = analysis.file_text(file);
    let keys = analysis.facts().declarations.iter().filter(|d| d.kind == DeclarationKind::Key && d.at.file == file);
    let written = keys.map(|d| (d.at.span, true, false));
    let named = analysis.mentions_in(file).map(|m| {
        let lost = m.template && m.to.is_none() && m.defined == ValuePresence::Never;
        (m.at.span, !m.template || m.to.is_some(), lost)
    });
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    for (at, written, lost) in written.chain(named) {
        // Each segment of a path is a mention of its own, and the last one has the whole path. After an unknown
        // segment, there are no more mentions.
        let (start, mut end) = (at.start as usize, at.end as usize);
        let rest = text.get(end..).unwrap_or_default();
        if lost {
            end += rest.find(|c: char| !part(c)).unwrap_or(rest.len());
        }
        let goes_on = text.get(end..).is_some_and(|rest| rest.starts_with('.'));
        let path = text.get(..end).map(|before| {
            let cut = before
                .rfind(|c: char| !part(c))
                .map_or(0, |at| at + before.get(at..).and_then(|t| t.chars().next()).map_or(1, char::len_utf8));
            before.get(cut..).unwrap_or_default()
        });
        let Some(path) = path.filter(|p| !goes_on && p.len() > end - start) else { continue };
        let Some((root, rest)) = path.split_once('.') else { continue };
        if WRITTEN.contains(&root) && !rest.is_empty() {
            let known = found.entry(path.to_owned()).or_insert(written);
            *known |= written;
        }
    }
    let own = spot.path.iter().rev().nth(1).and_then(|step| match step {
        PathStep::Key(name) => Some(name.as_str()),
        PathStep::Item(_) => None,
    });
    let missing = found.iter().filter(|(_, written)| !**written).map(|(path, _)| (path.clone(), "not written yet"));
    let own = own.into_iter().flat_map(|name| WRITTEN.map(|root| (format!("{root}.{name}"), "")));
    let others = found.iter().filter(|(_, written)| **written).map(|(path, _)| (path.clone(), "written elsewhere"));
    let mut items: Vec<CompletionItem> = Vec::new();
    for (path, note) in missing.chain(own).chain(others) {
        if !items.iter().any(|i| i.label == path) {
            let item = CompletionItem::new(path, CompletionKind::Name);
            items.push(if note.is_empty() { item } else { item.detail(note) });
        }
    }
    items
}

/// The properties that a schema declares but does not require yet, if the cursor is in its `required`.
pub fn requirable_properties(root: &YamlNode, spot: &TreePosition<'_>) -> Vec<CompletionItem> {
    let path = match spot.path.as_slice() {
        [above @ .., PathStep::Key(key), PathStep::Item(_)] | [above @ .., PathStep::Key(key)] if key == "required" => {
            above
        }
        _ => return Vec::new(),
    };
    let Some(schema) = node_at(root, path).and_then(YamlNode::as_mapping) else { return Vec::new() };
    let Some(properties) = schema.get("properties").and_then(|e| e.value.as_mapping()) else { return Vec::new() };
    let listed = schema.get("required").and_then(|e| e.value.as_sequence()).unwrap_or_default();
    let listed: Vec<&str> = listed.iter().filter_map(|n| n.as_string()).map(|t| &*t.value).collect();
    let names = properties.entries.iter().map(|e| &*e.key.value).filter(|name| !listed.contains(name));
    names.map(|name| CompletionItem::new(name, CompletionKind::Name).detail("property")).collect()
}

/// The allowed values of a property, if the cursor is in its `default`.
pub fn default_values(root: &YamlNode, spot: &TreePosition<'_>) -> Vec<CompletionItem> {
    let Some((PathStep::Key(key), above)) = spot.path.split_last() else { return Vec::new() };
    let Some(schema) = node_at(root, above).and_then(YamlNode::as_mapping).filter(|_| key == "default") else {
        return Vec::new();
    };
    let words = schema.get("enum").and_then(|e| e.value.as_sequence()).unwrap_or_default();
    let mut items: Vec<CompletionItem> = words
        .iter()
        .filter_map(YamlNode::as_scalar)
        .map(|(_, text)| CompletionItem::new(&*text.value, CompletionKind::Value))
        .collect();
    if let Some((YamlScalar::Str, kind)) = schema.get("type").and_then(|e| e.value.as_scalar())
        && &*kind.value == "boolean"
    {
        items.extend(["true", "false"].map(|word| CompletionItem::new(word, CompletionKind::Value)));
    }
    items
}
