//! Members of a name whose type does not list them: steps of a pipeline, parts of state, an input that a step passes
//! on, members used in other texts.

use trefoil_ir::facts::{DeclarationKind, Mention, Scope, ValuePresence};
use trefoil_syntax::Location;

use super::tag::{TagCursor, property_items};
use super::{CompletionItem, CompletionKind, folder_values};
use crate::analysis::touches_offset;
use crate::cursor::find_position;
use crate::types;

/// All members, most likely first. May contain duplicates.
pub fn find_members(around: &TagCursor<'_>, scope: &Scope, done: &[&str]) -> Vec<CompletionItem> {
    let mut items = inner_steps(around, scope, done);
    items.extend(inner_keys(around, scope, done));
    items.extend(handed_on(around, scope, done));
    if done == ["env"] {
        items.extend(folder_values::variable_items(around.analysis, around.file, around.offset));
    }
    items.extend(elsewhere(around, done));
    items
}

/// The steps of a nested pipeline, which can be read through its name.
fn inner_steps(around: &TagCursor<'_>, scope: &Scope, done: &[&str]) -> Vec<CompletionItem> {
    let Some((first, rest)) = done.split_first() else { return Vec::new() };
    let Some(at) = scope.names.iter().find(|n| *n.name == **first).and_then(|n| n.declared) else { return Vec::new() };
    let all = &around.analysis.facts().declarations;
    // They are declared below the step itself, below an agent defined in it, or below the agent that it refers to.
    let mut within = vec![at];
    within.extend(all.iter().filter(|d| d.parent == Some(at) && d.kind == DeclarationKind::Workflow).map(|d| d.at));
    let named = around.analysis.mentions_at(at.file, at.span.start).into_iter().filter(|m| !m.template);
    within.extend(named.filter_map(|m| m.to));
    let mut steps =
        all.iter().filter(|d| d.kind == DeclarationKind::Step && d.parent.is_some_and(|p| within.contains(&p)));
    if let Some((step, rest)) = rest.split_first() {
        let schema = steps.find(|d| *d.name == **step).map(|d| &d.schema);
        let schema =
            schema.and_then(|s| rest.iter().try_fold(s, |schema, segment| types::member_type(schema, segment)));
        return schema.map(property_items).unwrap_or_default();
    }
    steps
        .map(|d| {
            let note = d.note.as_deref().unwrap_or_default();
            CompletionItem::new(&*d.name, CompletionKind::Property)
                .detail(types::describe_type(&d.schema))
                .documentation(note)
        })
        .collect()
}

/// The properties of an input that a step passes on unchanged: `input: { rating: "{{rate}}" }`.
fn handed_on(around: &TagCursor<'_>, scope: &Scope, done: &[&str]) -> Vec<CompletionItem> {
    let Some((first, rest)) = done.split_first() else { return Vec::new() };
    let given =
        scope.names.iter().find(|n| *n.name == **first).and_then(|n| around.analysis.declaration_of_name(n.declared?));
    let Some(given) = given.filter(|d| d.kind == DeclarationKind::Input) else { return Vec::new() };
    let Some(root) = around.analysis.yaml_tree(given.at.file) else { return Vec::new() };
    let there = find_position(root, given.at.span.start);
    let entry =
        there.within.as_mapping().and_then(|m| m.entries.iter().find(|e| e.key.content_span() == given.at.span));
    let Some((_, value)) = entry.and_then(|e| e.value.as_scalar()) else { return Vec::new() };
    // With anything besides a single placeholder, the value is a text.
    let inner = value.value.strip_prefix("{{").and_then(|v| v.strip_suffix("}}"));
    if inner.is_none_or(|inner| inner.contains(['{', '}', '#'])) {
        return Vec::new();
    }
    let within = |m: &&Mention| value.span.start <= m.at.span.start && m.at.span.end <= value.span.end;
    let last = around.analysis.mentions_in(given.at.file).filter(|m| m.template).filter(within).last();
    let schema =
        last.and_then(|m| rest.iter().try_fold(&m.schema, |schema, segment| types::member_type(schema, segment)));
    schema.map(property_items).unwrap_or_default()
}

/// The parts of shared state that are written below a part.
fn inner_keys(around: &TagCursor<'_>, scope: &Scope, done: &[&str]) -> Vec<CompletionItem> {
    let all = &around.analysis.facts().declarations;
    let mut items = Vec::new();
    for name in scope.names.iter() {
        let own: Vec<&str> = name.name.split('.').collect();
        let (Some(rest), Some(at)) = (done.strip_prefix(own.as_slice()), name.declared) else { continue };
        let inner = |at, segment: &&str| {
            let found =
                all.iter().find(|d| d.kind == DeclarationKind::Key && d.parent == Some(at) && *d.name == **segment);
            found.map(|d| d.at)
        };
        let is_key = |at: &Location| all.iter().any(|d| d.at == *at && d.kind == DeclarationKind::Key);
        let Some(at) = rest.iter().try_fold(at, inner).filter(is_key) else { continue };
        items.extend(all.iter().filter(|d| d.kind == DeclarationKind::Key && d.parent == Some(at)).map(|d| {
            let note = d.note.as_deref().unwrap_or_default();
            CompletionItem::new(&*d.name, CompletionKind::Property)
                .detail(types::describe_type(&d.schema))
                .documentation(note)
        }));
    }
    items
}

/// Segments that other texts of the file use after the same path: keys of state without a declared type.
fn elsewhere(around: &TagCursor<'_>, done: &[&str]) -> Vec<CompletionItem> {
    if done.is_empty() {
        return Vec::new();
    }
    let text = around.analysis.file_text(around.file);
    let mut out: Vec<CompletionItem> = Vec::new();
    for m in around.analysis.mentions_in(around.file).filter(|m| m.template) {
        // A name without a declaration is known from its uses, unless they are certainly mistakes.
        if m.to.is_none() && (m.defined == ValuePresence::Never || done.first() == Some(&"env")) {
            continue;
        }
        let Some(before) = text.get(..m.at.span.start as usize).and_then(|t| t.strip_suffix('.')) else { continue };
        let same = done.iter().rev().try_fold(before, |rest, segment| {
            let rest = rest.strip_suffix(segment)?;
            Some(rest.strip_suffix('.').unwrap_or(rest))
        });
        let name = around.analysis.text_at(m.at);
        let whole =
            same.is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
        if whole && !touches_offset(m.at.span, around.offset) && !out.iter().any(|i| i.label == name) {
            out.push(CompletionItem::new(name, CompletionKind::Property).detail(types::describe_type(&m.schema)));
        }
    }
    out
}
