//! Expanding selection: from a segment of a path to the path, its tag, the block, the text, the key, and the
//! collections around it.

use trefoil_syntax::yaml::YamlNodeKind;
use trefoil_syntax::{FileId, Span};

use crate::analysis::{FolderAnalysis, touches_offset};
use crate::blocks;
use crate::cursor::line_span;
use crate::semantic_tokens::{TokenKind as Token, list_tokens};

/// The nested spans around an offset, smallest first. The last one is the whole file.
pub fn find_selections(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Vec<Span> {
    let text = analysis.file_text(file);
    let mut all = vec![Span::new(0, text.len() as u32)];
    let mut stack: Vec<_> = analysis.yaml_tree(file).into_iter().collect();
    while let Some(node) = stack.pop() {
        all.push(node.span);
        match &*node.kind {
            YamlNodeKind::Mapping(mapping) => {
                for entry in &mapping.entries {
                    all.extend([entry.key.content_span(), Span::new(entry.key.span.start, entry.value.span.end)]);
                    stack.push(&entry.value);
                }
            }
            YamlNodeKind::Sequence(items) => stack.extend(items),
            YamlNodeKind::Scalar(_, content) => {
                all.push(content.content_span());
                let own = line_span(text, offset);
                // For a multi-line text, add the line of the cursor.
                if touches_offset(node.span, offset) && node.span.start < own.start {
                    all.push(own);
                }
            }
        }
        stack.retain(|n| touches_offset(n.span, offset));
    }
    all.extend(blocks::find_blocks(analysis, file).into_iter().map(|b| b.span));
    in_tags(analysis, file, offset, &mut all);
    let trimmed = all.into_iter().filter_map(|s| trimmed(text, s)).filter(|s| touches_offset(*s, offset));
    let mut around: Vec<Span> = trimmed.collect();
    around.sort_by_key(|s| (s.len(), s.start));
    let mut out: Vec<Span> = Vec::new();
    for span in around {
        let grows = |last: &Span| span.start <= last.start && last.end <= span.end && span != *last;
        if out.last().is_none_or(grows) {
            out.push(span);
        }
    }
    out
}

/// The word, path and tag at an offset.
fn in_tags(analysis: &FolderAnalysis, file: FileId, offset: u32, all: &mut Vec<Span>) {
    let text = analysis.file_text(file);
    let slice = |span: Span| text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let mut path: Option<Span> = None;
    let mut tag: Option<u32> = None;
    for token in list_tokens(analysis, file) {
        let joined = path.is_some_and(|p| p.end == token.span.start);
        let goes_on = joined && (token.kind == Token::Property || slice(token.span) == ".");
        match token.kind {
            _ if goes_on => path = path.map(|p| Span::new(p.start, token.span.end)),
            Token::Variable => path = Some(token.span),
            _ => path = None,
        }
        all.extend(path);
        if !matches!(token.kind, Token::Operator) {
            all.push(token.span);
        } else if slice(token.span).starts_with("{{") {
            tag = Some(token.span.start);
        } else if slice(token.span).ends_with("}}")
            && let Some(start) = tag.take()
        {
            all.push(Span::new(start, token.span.end));
        }
        if token.span.start > offset && tag.is_none() {
            return;
        }
    }
}

/// A span without whitespace at its ends; `None` if nothing is left.
fn trimmed(text: &str, span: Span) -> Option<Span> {
    let own = text.get(span.start as usize..span.end as usize)?;
    if span.start == 0 && span.end as usize == text.len() {
        return Some(span);
    }
    let start = span.start + (own.len() - own.trim_start().len()) as u32;
    let content = own.trim();
    (!content.is_empty()).then(|| Span::new(start, start + content.len() as u32))
}
