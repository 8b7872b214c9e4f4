//! The tag or condition at the cursor: where it is, what is written of its path, and what can be offered in any.

use trefoil_ir::facts::Scope;
use trefoil_ir::types::ValueType;
use trefoil_syntax::{FileId, Span};
use trefoil_template::Value;

use super::{CompletionItem, CompletionKind};
use crate::analysis::FolderAnalysis;
use crate::cursor::line_span;
use crate::{types, words};

/// The place of the cursor.
pub(super) struct TagCursor<'a> {
    pub(super) analysis: &'a FolderAnalysis,
    pub(super) file: FileId,
    pub(super) offset: u32,
}

/// Whether a tag is open at an offset.
pub fn in_tag(text: &str, offset: u32) -> bool {
    matches!(line_before(text, offset).rsplit_once("{{"), Some((_, tag)) if !tag.contains("}}"))
}

/// Whether the tag that is open at the start of a text is closed in it.
pub(super) fn closes_tag(rest: &str) -> bool {
    matches!(rest.split_once("}}"), Some((tag, _)) if !tag.contains("{{"))
}

/// The line up to an offset.
pub(super) fn line_before(text: &str, offset: u32) -> &str {
    text.get(line_span(text, offset).start as usize..offset as usize).unwrap_or_default()
}

/// The part of a path before the cursor.
pub(super) struct CursorPath<'t> {
    /// The complete segments.
    pub(super) done: Vec<&'t str>,
    /// The bytes of the segment at the cursor, including its rest after the cursor.
    pub(super) last: Span,
    /// The text before the path on its line.
    pub(super) head: &'t str,
    /// Whether the cursor is in a tag.
    pub(super) tag: bool,
}

impl<'t> CursorPath<'t> {
    pub(super) fn at_offset(text: &'t str, offset: u32) -> Self {
        let before = line_before(text, offset);
        let part = |c: char| !c.is_whitespace() && !r#"{}|=!<>&()"'#/+*,[]~"#.contains(c);
        let (head, path) = before.split_at(before.trim_end_matches(part).len());
        let mut done: Vec<&str> = path.split('.').collect();
        let last = done.pop().unwrap_or_default();
        let after = text.get(offset as usize..).unwrap_or_default();
        let rest = after.find(|c| !part(c) || c == '.' || c == ':').unwrap_or(after.len());
        let span = Span::new(offset - last.len() as u32, offset + rest as u32);
        Self { done, last: span, head, tag: in_tag(text, offset) }
    }
}

/// The helpers of the language.
pub(super) fn helper_items(scope: &Scope) -> impl Iterator<Item = CompletionItem> + use<> {
    let all = words::helper_words(scope.policy).iter();
    all.map(|w| CompletionItem::new(w.name, CompletionKind::Word).detail("helper").documentation(w.about))
}

/// The properties of a value.
pub(super) fn property_items(of: &ValueType) -> Vec<CompletionItem> {
    let mut items = Vec::new();
    for property in types::list_properties(of) {
        let note = property.of.schema_keyword("description").and_then(Value::as_str).unwrap_or_default();
        let item = CompletionItem::new(&**property.name, CompletionKind::Property);
        items.push(item.detail(types::describe_type(property.of)).documentation(note));
    }
    items
}

/// The properties of what a path of member names leads to.
pub(super) fn property_items_at(of: &ValueType, path: &[&str]) -> Vec<CompletionItem> {
    match types::type_at_path(of, path) {
        Some(reached) => property_items(reached),
        None => Vec::new(),
    }
}

/// Words of the language.
pub(super) fn word_items(words: &[&str]) -> Vec<CompletionItem> {
    words.iter().map(|word| CompletionItem::new(*word, CompletionKind::Word)).collect()
}
