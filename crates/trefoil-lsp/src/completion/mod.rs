//! Completion: names and properties in templates and conditions, keys and values of the format, ids, rules in comments.
//!
//! A text that is being written is often invalid YAML or an invalid template. It is then analysed with a stand-in at
//! the cursor; the replaced range always refers to the actual text.

mod block_names;
mod file_values;
mod folder_values;
mod nested_members;
mod structure;
mod tag;
mod template;

pub use folder_values::variable_names;
pub use folder_values::{list_models, parse_model_name};
pub use structure::named_by;
pub use tag::in_tag;

use trefoil_check::RULES;
use trefoil_ir::facts::{DeclarationKind, NameDeclaration};
use trefoil_syntax::{FileId, Location, Span};

use crate::analysis::FolderAnalysis;
use crate::cursor::line_span;

/// The stand-in for text that is not written yet.
const STAND_IN: &str = "zzz";

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionKind {
    /// A name at the start of a path, or as the value of a key.
    Name,
    /// A property of a value.
    Property,
    /// A key of the format.
    Key,
    /// One of several allowed values.
    Value,
    /// A block, helper or filter.
    Word,
    /// A rule.
    Rule,
}

/// A completion item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionItem {
    /// The shown text.
    pub label: String,
    /// The inserted text.
    pub insert: String,
    /// Its kind.
    pub sort: CompletionKind,
    /// A short text next to it.
    pub detail: Option<String>,
    /// Documentation in Markdown.
    pub documentation: Option<String>,
}

impl CompletionItem {
    fn new(label: impl Into<String>, sort: CompletionKind) -> Self {
        let label = label.into();
        Self { insert: label.clone(), label, sort, detail: None, documentation: None }
    }
    fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
    fn documentation(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.documentation = if text.is_empty() { None } else { Some(text) };
        self
    }
}

/// Whether there is an item with this text.
fn is_offered(items: &[CompletionItem], label: &str) -> bool {
    items.iter().any(|item| item.label == label)
}

/// Adds an item if there is none with its text.
fn offer(items: &mut Vec<CompletionItem>, item: CompletionItem) {
    if !is_offered(items, &item.label) {
        items.push(item);
    }
}

/// The declarations of a kind that belong to one of these.
fn members_of<'a>(
    analysis: &'a FolderAnalysis,
    kind: DeclarationKind,
    parents: &[Location],
) -> Vec<&'a NameDeclaration> {
    let mut members = Vec::new();
    for declaration in &analysis.facts().declarations {
        if declaration.kind == kind && matches!(&declaration.parent, Some(parent) if parents.contains(parent)) {
            members.push(declaration);
        }
    }
    members
}

/// The items at a place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionItems {
    /// The bytes that an item replaces.
    pub replace: Span,
    /// The items, most likely first.
    pub items: Vec<CompletionItem>,
}

/// Completes at an offset. `retry` returns the analysis with another text.
pub fn complete_at(
    analysis: &FolderAnalysis,
    file: FileId,
    offset: u32,
    retry: &mut dyn FnMut(&str) -> Option<(FolderAnalysis, FileId)>,
) -> CompletionItems {
    let text = analysis.file_text(file);
    if let Some(found) = rules(text, offset) {
        return found;
    }
    if in_tag(text, offset) || template::in_bare_condition(analysis, file, offset) {
        return template::complete_in_tag(analysis, file, offset, retry);
    }
    if in_comment(text, offset) {
        return CompletionItems::default();
    }
    if structure::takes_condition(text, offset) {
        let found = template::complete_in_tag(analysis, file, offset, retry);
        if !found.items.is_empty() {
            return found;
        }
    }
    structure::complete_structure(analysis, file, offset)
}

/// The rules, in a comment that suppresses findings.
fn rules(text: &str, offset: u32) -> Option<CompletionItems> {
    let before = text.get(line_span(text, offset).start as usize..offset as usize)?;
    let comment = before.get(before.rfind("# trefoil:")? + "# trefoil:".len()..)?.trim_start();
    let mut items = Vec::new();
    for verb in ["allow", "allow-file"] {
        if verb.starts_with(comment) {
            items
                .push(CompletionItem { insert: format!("{verb} "), ..CompletionItem::new(verb, CompletionKind::Word) });
        }
    }
    if !items.is_empty() {
        return Some(CompletionItems { replace: Span::new(offset - comment.len() as u32, offset), items });
    }
    let named = match comment.strip_prefix("allow-file") {
        Some(named) => named,
        None => comment.strip_prefix("allow")?,
    };
    if !named.starts_with([' ', '\t']) || named.contains("--") {
        return None;
    }
    let written = named.rsplit([' ', '\t', ',']).next().unwrap_or_default();
    for rule in RULES.iter() {
        let item = CompletionItem::new(rule.name, CompletionKind::Rule);
        items.push(item.detail(rule.group.name()).documentation(rule.page_summary()));
    }
    Some(CompletionItems { replace: Span::new(offset - written.len() as u32, offset), items })
}

fn in_comment(text: &str, offset: u32) -> bool {
    let before = text.get(line_span(text, offset).start as usize..offset as usize).unwrap_or_default();
    before.trim_start().starts_with('#')
}
