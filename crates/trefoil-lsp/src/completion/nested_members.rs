//! Members of a name whose type does not list them: steps of a pipeline, parts of state, an input that a step passes
//! on, members used in other texts.

use trefoil_ir::facts::{DeclarationKind, NameDeclaration, Scope, ValuePresence};
use trefoil_syntax::yaml::{YamlNode, YamlText};
use trefoil_syntax::{Location, Span};

use super::tag::{TagCursor, property_items_at};
use super::{CompletionItem, CompletionKind, folder_values, is_offered, members_of};
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
    let Some(at) = declared_at(scope, first) else { return Vec::new() };
    // They are declared below the step itself, below an agent defined in it, or below the agent that it refers to.
    let mut within = vec![at];
    for declaration in &around.analysis.facts().declarations {
        if declaration.parent == Some(at) && declaration.kind == DeclarationKind::Workflow {
            within.push(declaration.at);
        }
    }
    for mention in around.analysis.mentions_at(at.file, at.span.start) {
        if !mention.template {
            within.extend(mention.to);
        }
    }
    let steps = members_of(around.analysis, DeclarationKind::Step, &within);
    let Some((step, path)) = rest.split_first() else {
        return steps.into_iter().map(declared_item).collect();
    };
    match steps.into_iter().find(|d| *d.name == **step) {
        Some(step) => property_items_at(&step.schema, path),
        None => Vec::new(),
    }
}

/// Where a visible name is declared.
fn declared_at(scope: &Scope, name: &str) -> Option<Location> {
    scope.names.iter().find(|n| *n.name == *name)?.declared
}

fn declared_item(declaration: &NameDeclaration) -> CompletionItem {
    CompletionItem::new(&*declaration.name, CompletionKind::Property)
        .detail(types::describe_type(&declaration.schema))
        .documentation(declaration.note.as_deref().unwrap_or_default())
}

/// The properties of an input that a step passes on unchanged: `input: { rating: "{{rate}}" }`.
fn handed_on(around: &TagCursor<'_>, scope: &Scope, done: &[&str]) -> Vec<CompletionItem> {
    let Some((first, rest)) = done.split_first() else { return Vec::new() };
    let Some(at) = declared_at(scope, first) else { return Vec::new() };
    let Some(given) = around.analysis.declaration_of_name(at) else { return Vec::new() };
    if given.kind != DeclarationKind::Input {
        return Vec::new();
    }
    let Some(root) = around.analysis.yaml_tree(given.at.file) else { return Vec::new() };
    let Some(value) = value_of_key(root, given.at.span) else { return Vec::new() };
    // With anything besides a single placeholder, the value is a text.
    if !is_placeholder(&value.value) {
        return Vec::new();
    }
    let mut last = None;
    for mention in around.analysis.mentions_in(given.at.file) {
        let inside = value.span.start <= mention.at.span.start && mention.at.span.end <= value.span.end;
        if mention.template && inside {
            last = Some(mention);
        }
    }
    match last {
        Some(mention) => property_items_at(&mention.schema, rest),
        None => Vec::new(),
    }
}

/// The scalar below the key at a place.
fn value_of_key(root: &YamlNode, key: Span) -> Option<&YamlText> {
    let mapping = find_position(root, key.start).container.as_mapping()?;
    let entry = mapping.entries.iter().find(|e| e.key.content_span() == key)?;
    let (_, value) = entry.value.as_scalar()?;
    Some(value)
}

/// Whether a text is a single placeholder.
fn is_placeholder(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("{{") else { return false };
    let Some(inner) = rest.strip_suffix("}}") else { return false };
    !inner.contains(['{', '}', '#'])
}

/// The parts of shared state that are written below a part.
fn inner_keys(around: &TagCursor<'_>, scope: &Scope, done: &[&str]) -> Vec<CompletionItem> {
    let mut items = Vec::new();
    for name in scope.names.iter() {
        let own: Vec<&str> = name.name.split('.').collect();
        if let Some(rest) = done.strip_prefix(own.as_slice())
            && let Some(at) = name.declared
            && let Some(part) = state_key(&around.analysis.facts().declarations, at, rest)
        {
            items.extend(members_of(around.analysis, DeclarationKind::Key, &[part]).into_iter().map(declared_item));
        }
    }
    items
}

/// The key of shared state at a path below another one.
fn state_key(declarations: &[NameDeclaration], from: Location, path: &[&str]) -> Option<Location> {
    let is_key = |d: &NameDeclaration| d.kind == DeclarationKind::Key;
    let mut at = from;
    for segment in path {
        at = declarations.iter().find(|d| is_key(d) && d.parent == Some(at) && *d.name == **segment)?.at;
    }
    if declarations.iter().any(|d| is_key(d) && d.at == at) { Some(at) } else { None }
}

/// Segments that other texts of the file use after the same path: keys of state without a declared type.
fn elsewhere(around: &TagCursor<'_>, done: &[&str]) -> Vec<CompletionItem> {
    if done.is_empty() {
        return Vec::new();
    }
    let text = around.analysis.file_text(around.file);
    let mut out: Vec<CompletionItem> = Vec::new();
    for mention in around.analysis.mentions_in(around.file) {
        // A name without a declaration is known from its uses, unless they are certainly mistakes.
        let unknown = mention.to.is_none() && (mention.defined == ValuePresence::Never || done.first() == Some(&"env"));
        if !mention.template || unknown {
            continue;
        }
        let span = mention.at.span;
        let name = around.analysis.text_at(mention.at);
        if follows_path(text.get(..span.start as usize).unwrap_or_default(), done)
            && !touches_offset(span, around.offset)
            && !is_offered(&out, name)
        {
            let item = CompletionItem::new(name, CompletionKind::Property);
            out.push(item.detail(types::describe_type(&mention.schema)));
        }
    }
    out
}

/// Whether a text ends with this path and a dot.
fn follows_path(text: &str, path: &[&str]) -> bool {
    let Some(mut rest) = text.strip_suffix('.') else { return false };
    for segment in path.iter().rev() {
        let Some(before) = rest.strip_suffix(*segment) else { return false };
        rest = before.strip_suffix('.').unwrap_or(before);
    }
    !rest.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}
