//! The blocks of templates: matches `{{#each}}` with `{{/each}}`. Unclosed blocks are ignored.

use trefoil_syntax::{FileId, Span};

use crate::analysis::FolderAnalysis;
use crate::semantic_tokens::{TokenKind, list_tokens};

/// The blocks of a file, in the order in which they end. For each, the words of its tags, with `#` and `/`: the first
/// tag, every `else`, the last tag.
pub fn find_blocks(analysis: &FolderAnalysis, file: FileId) -> Vec<Vec<Span>> {
    let text = analysis.file_text(file);
    let slice = |span: Span| text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let (mut open, mut closed): (Vec<Vec<Span>>, Vec<Vec<Span>>) = (Vec::new(), Vec::new());
    let mut within = None;
    for token in list_tokens(analysis, file) {
        let word = slice(token.span);
        if token.kind != TokenKind::Keyword || !word.starts_with(['#', '/', '^']) && word != "else" {
            continue;
        }
        // A block ends with its text at the latest.
        let here = analysis.scope_at(file, token.span.start).map(|scope| scope.at);
        if here != within {
            open.clear();
            within = here;
        }
        if word.starts_with(['#', '^']) {
            open.push(vec![token.span]);
        } else if word == "else" {
            if let Some(block) = open.last_mut() {
                block.push(token.span);
            }
        } else if let Some(mut block) = open.pop()
            && let Some(first) = block.first()
            && slice(*first).get(1..) == word.get(1..)
        {
            block.push(token.span);
            closed.push(block);
        }
    }
    closed
}
