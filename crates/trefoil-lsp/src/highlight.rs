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
    let mut out = Vec::new();
    for at in references::find_references(analysis, file, offset, true) {
        if at.file == file {
            out.push((at.span, sort(analysis, at)));
        }
    }
    if out.is_empty() {
        out = same_paths(analysis, file, offset);
    }
    out.sort_by_key(|(span, sort)| (*span, *sort == HighlightSort::Read));
    out.dedup_by_key(|(span, _)| *span);
    out
}

/// The places that read the same path without a declaration (`env.KEY`, `item.title`).
fn same_paths(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Vec<(Span, HighlightSort)> {
    let text = analysis.file_text(file);
    let Some(here) = analysis.mentions_at(file, offset).into_iter().find(|m| m.template) else { return Vec::new() };
    let path = path_to(text, here.at.span);
    let mut out = Vec::new();
    for mention in analysis.mentions_in(file) {
        if mention.template && mention.to.is_none() && path_to(text, mention.at.span) == path {
            out.push((mention.at.span, HighlightSort::Read));
        }
    }
    out
}

fn sort(analysis: &FolderAnalysis, at: Location) -> HighlightSort {
    if analysis.declaration_of_name(at).is_some() || writes_key(analysis, at) {
        HighlightSort::Write
    } else {
        HighlightSort::Read
    }
}

/// Whether a place writes to a key of shared state: its mentions outside of templates are writes.
fn writes_key(analysis: &FolderAnalysis, at: Location) -> bool {
    for mention in analysis.mentions_at(at.file, at.span.start) {
        if mention.at == at
            && !mention.template
            && let Some(declaration) = analysis.mentioned_declaration(mention)
            && declaration.kind == DeclarationKind::Key
        {
            return true;
        }
    }
    false
}

/// The path up to and including a segment.
pub fn path_to(text: &str, segment: Span) -> &str {
    let before = text.get(..segment.end as usize).unwrap_or_default();
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '$');
    before.get(before.trim_end_matches(part).len()..).unwrap_or_default()
}
