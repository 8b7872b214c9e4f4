//! Folding: mappings, list items and texts of several lines, blocks of templates, comments of several lines.

use trefoil_syntax::yaml::{YamlNode, find_comments};
use trefoil_syntax::{FileId, Span};

use crate::analysis::FolderAnalysis;
use crate::blocks;
use crate::cursor::walk_nodes;

/// A range that can be folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldableRange {
    /// From its first line to its last; it may also be on one line.
    pub span: Span,
    /// Whether it consists of comments.
    pub comment: bool,
}

/// The ranges that can be folded in a file, in order.
pub fn find_folds(analysis: &FolderAnalysis, file: FileId) -> Vec<FoldableRange> {
    let Some(root) = analysis.yaml_tree(file).filter(|_| analysis.dialect(file).is_some()) else { return Vec::new() };
    let text = analysis.file_text(file);
    let mut spans = Vec::new();
    for node in walk_nodes(root) {
        let entries = node.as_mapping().into_iter().flat_map(|mapping| &mapping.entries);
        spans.extend(entries.map(|entry| Span::new(entry.key.span.start, entry.value.span.end)));
        spans.extend(node.as_sequence().into_iter().flatten().map(|item| item.span));
    }
    spans.extend(blocks::find_blocks(analysis, file).into_iter().map(|b| b.span));
    // The target of an alias is folded at its anchor, and a merged key is not below its mapping.
    spans.retain(|s| s.start < s.end);
    let mut out: Vec<FoldableRange> =
        spans.into_iter().map(|s| FoldableRange { span: trimmed(text, s), comment: false }).collect();
    out.extend(remarks(text, root).into_iter().map(|span| FoldableRange { span, comment: true }));
    out.sort_by_key(|f| (f.span.start, std::cmp::Reverse(f.span.end)));
    out.dedup();
    out
}

/// A span without whitespace and comments at its end: a block scalar's span ends where the next key starts.
fn trimmed(text: &str, span: Span) -> Span {
    let own = text.get(span.start as usize..span.end as usize).unwrap_or_default();
    Span::new(span.start, span.start + own.trim_end().len() as u32)
}

/// Consecutive comments on separate lines.
fn remarks(text: &str, root: &YamlNode) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    for comment in find_comments(text, root).all.into_iter().filter(|c| c.alone) {
        let between = |last: &Span| text.get(last.end as usize..comment.span.start as usize).unwrap_or("?");
        match out.last_mut() {
            Some(last) if between(last).trim().is_empty() && between(last).matches('\n').count() == 1 => {
                last.end = comment.span.end;
            }
            _ => out.push(comment.span),
        }
    }
    out
}
