//! Values found elsewhere in the same file: paths that are read but never written, properties that a schema can
//! require, allowed values for a default.

use std::collections::BTreeMap;

use trefoil_ir::facts::{DeclarationKind, ValuePresence};
use trefoil_syntax::yaml::{YamlNode, YamlScalar};
use trefoil_syntax::{FileId, Span};

use super::{CompletionItem, CompletionKind, offer};
use crate::analysis::FolderAnalysis;
use crate::cursor::{PathStep, TreePosition, list_below, mapping_below, node_at};

/// The trees of state that nodes write to.
const WRITTEN: [&str; 2] = ["working", "output"];

/// The paths that a node may write to: those that are read but not written yet, those with its own name, those that
/// other nodes write.
pub fn writable_paths(analysis: &FolderAnalysis, file: FileId, position: &TreePosition<'_>) -> Vec<CompletionItem> {
    let found = state_paths(analysis, file);
    let mut items: Vec<CompletionItem> = Vec::new();
    for (path, written) in &found {
        if !written {
            offer_path(&mut items, path, "not written yet");
        }
    }
    if let [.., PathStep::Key(name), _] = position.path.as_slice() {
        for root in WRITTEN {
            offer_path(&mut items, &format!("{root}.{name}"), "");
        }
    }
    for (path, written) in &found {
        if *written {
            offer_path(&mut items, path, "written elsewhere");
        }
    }
    items
}

fn offer_path(items: &mut Vec<CompletionItem>, path: &str, note: &str) {
    let item = CompletionItem::new(path, CompletionKind::Name);
    offer(items, if note.is_empty() { item } else { item.detail(note) });
}

/// The paths of state in a file, and whether each is written.
fn state_paths(analysis: &FolderAnalysis, file: FileId) -> BTreeMap<String, bool> {
    let text = analysis.file_text(file);
    let mut found: BTreeMap<String, bool> = BTreeMap::new();
    for declaration in &analysis.facts().declarations {
        if declaration.kind == DeclarationKind::Key
            && declaration.at.file == file
            && let Some(path) = state_path(text, declaration.at.span, false)
        {
            found.insert(path.to_owned(), true);
        }
    }
    for mention in analysis.mentions_in(file) {
        let unknown = mention.template && mention.to.is_none();
        if let Some(path) = state_path(text, mention.at.span, unknown && mention.defined == ValuePresence::Never) {
            *found.entry(path.to_owned()).or_insert(false) |= !unknown;
        }
    }
    found
}

/// The path of state that ends with a segment. `lost`: the segment is unknown.
fn state_path(text: &str, segment: Span, lost: bool) -> Option<&str> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    // Each segment of a path is a mention of its own, and the last one has the whole path. After an unknown segment,
    // there are no more mentions.
    let mut end = segment.end as usize;
    let rest = text.get(end..).unwrap_or_default();
    if lost {
        end += rest.find(|c| !part(c)).unwrap_or(rest.len());
    }
    if text.get(end..).unwrap_or_default().starts_with('.') {
        return None;
    }
    let before = text.get(..end)?;
    let path = before.get(before.trim_end_matches(part).len()..)?;
    let (root, rest) = path.split_once('.')?;
    let is_longer = path.len() > end - segment.start as usize;
    if is_longer && WRITTEN.contains(&root) && !rest.is_empty() { Some(path) } else { None }
}

/// The properties that a schema declares but does not require yet, if the cursor is in its `required`.
pub fn requirable_properties(root: &YamlNode, position: &TreePosition<'_>) -> Vec<CompletionItem> {
    let path = match position.path.as_slice() {
        [above @ .., PathStep::Key(key), PathStep::Item(_)] | [above @ .., PathStep::Key(key)] if key == "required" => {
            above
        }
        _ => return Vec::new(),
    };
    let Some(schema) = node_at(root, path).and_then(YamlNode::as_mapping) else { return Vec::new() };
    let Some(properties) = mapping_below(schema, "properties") else { return Vec::new() };
    let mut required: Vec<&str> = Vec::new();
    for name in list_below(schema, "required").unwrap_or_default() {
        if let Some(text) = name.as_string() {
            required.push(&text.value);
        }
    }
    let mut items = Vec::new();
    for entry in &properties.entries {
        if !required.contains(&&*entry.key.value) {
            items.push(CompletionItem::new(&*entry.key.value, CompletionKind::Name).detail("property"));
        }
    }
    items
}

/// The allowed values of a property, if the cursor is in its `default`.
pub fn default_values(root: &YamlNode, position: &TreePosition<'_>) -> Vec<CompletionItem> {
    let Some((PathStep::Key(key), above)) = position.path.split_last() else { return Vec::new() };
    if key != "default" {
        return Vec::new();
    }
    let Some(schema) = node_at(root, above).and_then(YamlNode::as_mapping) else { return Vec::new() };
    let mut items: Vec<CompletionItem> = Vec::new();
    for value in list_below(schema, "enum").unwrap_or_default() {
        if let Some((_, text)) = value.as_scalar() {
            items.push(CompletionItem::new(&*text.value, CompletionKind::Value));
        }
    }
    if let Some(entry) = schema.get("type")
        && let Some((YamlScalar::Str, kind)) = entry.value.as_scalar()
        && &*kind.value == "boolean"
    {
        items.extend(["true", "false"].map(|word| CompletionItem::new(word, CompletionKind::Value)));
    }
    items
}
