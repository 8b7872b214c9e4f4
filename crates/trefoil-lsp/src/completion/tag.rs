//! The tag or condition at the cursor: where it is, what is written of its path, and what can be offered in any.

use trefoil_ir::facts::Scope;
use trefoil_ir::types::Type;
use trefoil_syntax::{FileId, Span};
use trefoil_template::Value;

use super::{Item, ItemSort};
use crate::analysis::Analysis;
use crate::cursor::line;
use crate::{types, words};

/// The place of the cursor.
pub(super) struct TagAround<'a> {
    pub(super) analysis: &'a Analysis,
    pub(super) file: FileId,
    pub(super) offset: u32,
}

/// Whether a tag is open at an offset.
pub fn in_tag(text: &str, offset: u32) -> bool {
    let before = before(text, offset);
    before.rfind("{{").is_some_and(|open| before.get(open..).is_some_and(|tag| !tag.contains("}}")))
}

/// The line up to an offset.
pub(super) fn before(text: &str, offset: u32) -> &str {
    text.get(line(text, offset).start as usize..offset as usize).unwrap_or_default()
}

/// The part of a path before the cursor.
pub(super) struct WrittenPath<'t> {
    /// The complete segments.
    pub(super) done: Vec<&'t str>,
    /// The bytes of the segment at the cursor, including its rest after the cursor.
    pub(super) last: Span,
    /// The text before the path on its line.
    pub(super) head: &'t str,
    /// Whether the cursor is in a tag.
    pub(super) tag: bool,
}

impl<'t> WrittenPath<'t> {
    pub(super) fn read(text: &'t str, offset: u32) -> Self {
        let before = before(text, offset);
        let part = |c: char| !c.is_whitespace() && !r#"{}|=!<>&()"'#/+*,[]~"#.contains(c);
        let start = before
            .rfind(|c| !part(c))
            .map_or(0, |at| at + before.get(at..).and_then(|t| t.chars().next()).map_or(1, char::len_utf8));
        let (head, path) = before.split_at(start);
        let mut done: Vec<&str> = path.split('.').collect();
        let last = done.pop().unwrap_or_default();
        let after = text.get(offset as usize..).unwrap_or_default();
        let rest = after.find(|c| !part(c) || c == '.' || c == ':').unwrap_or(after.len());
        let span = Span::new(offset - last.len() as u32, offset + rest as u32);
        Self { done, last: span, head, tag: in_tag(text, offset) }
    }
}

/// The helpers of the language.
pub(super) fn helpers(scope: &Scope) -> impl Iterator<Item = Item> + use<> {
    let all = words::helpers(scope.policy).iter();
    all.map(|w| Item::new(w.name, ItemSort::Word).detail("helper").documentation(w.about))
}

/// The properties of a value.
pub(super) fn properties(of: &Type) -> Vec<Item> {
    let all = types::properties(of).into_iter();
    all.map(|p| {
        let note = p.of.keyword("description").and_then(Value::as_str).unwrap_or_default();
        Item::new(&**p.name, ItemSort::Property).detail(types::describe(p.of)).documentation(note)
    })
    .collect()
}
