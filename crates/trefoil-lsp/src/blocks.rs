//! The blocks of templates: matches `{{#each}}` with `{{/each}}`. Unclosed blocks are ignored.

use trefoil_syntax::{FileId, Span};

use crate::analysis::FolderAnalysis;
use crate::semantic_tokens::{TokenKind, list_tokens};

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockTags {
    /// The words of its tags, with `#` and `/`: the first tag, every `else`, the last tag.
    pub words: Vec<Span>,
    /// From the braces of the first tag to those of the last.
    pub span: Span,
}

/// The blocks of a file, in the order in which they end.
pub fn find_blocks(analysis: &FolderAnalysis, file: FileId) -> Vec<BlockTags> {
    let text = analysis.file_text(file);
    let slice = |span: Span| text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let (mut open, mut out): (Vec<Vec<Span>>, Vec<BlockTags>) = (Vec::new(), Vec::new());
    let mut within = None;
    for token in list_tokens(analysis, file).into_iter().filter(|t| t.kind == TokenKind::Keyword) {
        let word = slice(token.span);
        if !word.starts_with(['#', '/', '^']) && word != "else" {
            continue;
        }
        // A block ends with its text at the latest.
        let here = analysis.scope_at(file, token.span.start).map(|s| s.at);
        if here != within {
            open.clear();
            within = here;
        }
        if word.starts_with(['#', '^']) {
            open.push(vec![token.span]);
        } else if word == "else" {
            open.last_mut().into_iter().for_each(|block| block.push(token.span));
        } else if let Some(mut words) = open.pop()
            && let Some(first) = words.first().copied()
            && slice(first).get(1..) == word.get(1..)
        {
            words.push(token.span);
            let start = text.get(..first.start as usize).and_then(|t| t.rfind("{{")).unwrap_or(first.start as usize);
            let end = token.span.end as usize;
            let end = text.get(end..).and_then(|t| t.find("}}")).map_or(end, |n| end + n + 2);
            out.push(BlockTags { words, span: Span::new(start as u32, end as u32) });
        }
    }
    out
}
