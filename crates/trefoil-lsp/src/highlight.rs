//! Highlights: every place of the file that refers to what is at an offset; for a block in a template, its tags.

use trefoil_ir::facts::DeclarationKind;
use trefoil_syntax::{FileId, Location, Span};

use crate::analysis::{FolderAnalysis, touches_offset};
use crate::{blocks, references};

/// How a place uses the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HighlightSort {
    /// A tag of a block.
    Text,
    /// Reads it, or refers to it.
    Read,
    /// Declares it, or writes to it.
    Write,
}

/// The places to highlight, in the order of the file.
pub fn find_highlights(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Vec<(Span, HighlightSort)> {
    for words in blocks::find_blocks(analysis, file) {
        if words.iter().any(|word| touches_offset(*word, offset)) {
            return words.into_iter().map(|word| (word, HighlightSort::Text)).collect();
        }
    }
    let named = references::find_references(analysis, file, offset, true);
    let mut out: Vec<(Span, HighlightSort)> =
        named.into_iter().filter(|at| at.file == file).map(|at| (at.span, sort(analysis, at))).collect();
    if out.is_empty() {
        // Names without a declaration (`env.KEY`, `item.title`) are compared by path.
        let path = |span: Span| path_to(analysis.file_text(file), span);
        let here = analysis.mentions_at(file, offset).into_iter().find(|m| m.template).map(|m| path(m.at.span));
        let same = analysis.mentions_in(file).filter(|m| m.template && m.to.is_none());
        let same = same.filter(|m| here == Some(path(m.at.span)));
        out.extend(same.map(|m| (m.at.span, HighlightSort::Read)));
    }
    out.sort_by_key(|(span, sort)| (*span, *sort == HighlightSort::Read));
    out.dedup_by_key(|(span, _)| *span);
    out
}

fn sort(analysis: &FolderAnalysis, at: Location) -> HighlightSort {
    let writes = || {
        let mut mentions = analysis.mentions_at(at.file, at.span.start).into_iter().filter(|m| m.at == at);
        mentions.any(|m| !m.template && m.to.and_then(|to| analysis.declaration_of_name(to)).is_some_and(is_key))
    };
    if analysis.declaration_of_name(at).is_some() || writes() { HighlightSort::Write } else { HighlightSort::Read }
}

/// Whether it is a key of shared state. Its mentions outside of templates are writes.
fn is_key(declaration: &trefoil_ir::facts::NameDeclaration) -> bool {
    declaration.kind == DeclarationKind::Key
}

/// The path up to and including a segment.
pub fn path_to(text: &str, segment: Span) -> &str {
    let before = text.get(..segment.end as usize).unwrap_or_default();
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '$');
    let start = before
        .rfind(|c| !part(c))
        .map_or(0, |n| n + before.get(n..).and_then(|t| t.chars().next()).map_or(1, char::len_utf8));
    before.get(start..).unwrap_or_default()
}
