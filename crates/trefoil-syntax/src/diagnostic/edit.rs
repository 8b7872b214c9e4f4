//! Fixes as text edits: which fixes are compatible, and how to apply edits to a text. Writes no files.

use super::{Fix, SourceEdit};
use crate::span::Location;

/// The fixes that can be applied together. Fixes earlier in the list take precedence. Each fix is applied as a whole,
/// and no two touch each other, so a change that several fixes make is made only once.
pub fn compatible_fixes<'f>(fixes: impl IntoIterator<Item = &'f Fix>) -> Vec<&'f Fix> {
    let mut taken: Vec<Location> = Vec::new();
    let mut chosen: Vec<&Fix> = Vec::new();
    for fix in fixes {
        let free = fix.edits.iter().all(|e| taken.iter().all(|t| !touch(*t, e.location)));
        if free && !fix.edits.is_empty() {
            taken.extend(fix.edits.iter().map(|e| e.location));
            chosen.push(fix);
        }
    }
    chosen
}

/// Whether two edits conflict. Edits that merely touch conflict as well, because their order would matter.
fn touch(a: Location, b: Location) -> bool {
    a.file == b.file && a.span.start <= b.span.end && b.span.start <= a.span.end
}

/// The text after applying the edits; `None` if they overlap or are out of bounds.
pub fn apply_edits(text: &str, edits: &[&SourceEdit]) -> Option<String> {
    let mut edits = edits.to_vec();
    edits.sort_by_key(|e| (e.location.span.start, e.location.span.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        let (start, end) = (edit.location.span.start as usize, edit.location.span.end as usize);
        out.push_str(text.get(at..start)?);
        text.get(start..end)?;
        out.push_str(&edit.text);
        at = end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileId, Span};

    fn edit(start: u32, end: u32, text: &str) -> SourceEdit {
        SourceEdit { location: Location::new(FileId(0), Span::new(start, end)), text: text.to_owned() }
    }
    fn fix(edits: Vec<SourceEdit>) -> Fix {
        Fix { message: "m".to_owned(), edits, safe: true }
    }

    #[test]
    fn everything_else_stays() {
        let edits = [edit(4, 4, "+"), edit(0, 1, "ä"), edit(2, 3, "")];
        assert_eq!(apply_edits("abcdef", &edits.iter().collect::<Vec<_>>()).as_deref(), Some("äbd+ef"));
        assert_eq!(apply_edits("abc", &[&edit(0, 2, ""), &edit(1, 3, "")]), None);
        assert_eq!(apply_edits("abc", &[&edit(2, 9, "")]), None);
        assert_eq!(apply_edits("äb", &[&edit(1, 2, "")]), None, "in the middle of a character");
    }

    #[test]
    fn a_fix_is_taken_whole_or_not_at_all() {
        let all = [fix(vec![edit(0, 2, "x")]), fix(vec![edit(1, 3, "y"), edit(8, 9, "y")]), fix(vec![edit(8, 9, "z")])];
        let chosen = compatible_fixes(&all);
        assert_eq!(chosen, [&all[0], &all[2]]);
    }
}
