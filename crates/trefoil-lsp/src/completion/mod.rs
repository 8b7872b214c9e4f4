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
pub use folder_values::{list_models, parse_model_name as written_model};
pub use structure::named_by;
pub use tag::in_tag;

use trefoil_check::RULES;
use trefoil_syntax::{FileId, Span};

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
        self.documentation = (!text.is_empty()).then_some(text);
        self
    }
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
    let said = before.get(before.rfind("# trefoil:")? + "# trefoil:".len()..)?.trim_start();
    let verbs = ["allow", "allow-file"];
    if verbs.iter().any(|verb| verb.starts_with(said)) {
        let verbs = verbs.into_iter().filter(|verb| verb.starts_with(said));
        let items = verbs.map(|verb| CompletionItem {
            insert: format!("{verb} "),
            ..CompletionItem::new(verb, CompletionKind::Word)
        });
        return Some(CompletionItems {
            replace: Span::new(offset - said.len() as u32, offset),
            items: items.collect(),
        });
    }
    let named = said.strip_prefix("allow-file").or_else(|| said.strip_prefix("allow"))?;
    if !named.starts_with([' ', '\t']) || named.contains("--") {
        return None;
    }
    let written = named.rsplit([' ', '\t', ',']).next().unwrap_or_default();
    let items = RULES.iter().map(|r| {
        CompletionItem::new(r.name, CompletionKind::Rule).detail(r.group.name()).documentation(r.page_summary())
    });
    Some(CompletionItems { replace: Span::new(offset - written.len() as u32, offset), items: items.collect() })
}

fn in_comment(text: &str, offset: u32) -> bool {
    let before = text.get(line_span(text, offset).start as usize..offset as usize).unwrap_or_default();
    before.trim_start().starts_with('#')
}
