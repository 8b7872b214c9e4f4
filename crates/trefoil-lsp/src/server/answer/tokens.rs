//! Semantic tokens of whole files and ranges, and changes since the last request.

use gen_lsp_types as lsp;
use serde_json::{Value, json};
use trefoil_syntax::Span;

use super::LspRequestError;
use crate::retained_findings::count_equal;
use crate::semantic_tokens::{SemanticToken, list_tokens};
use crate::server::position::LineIndex;
use crate::server::session::{EditorSession, RequestPosition};

/// Number of integers for each token in the protocol.
const FIELDS: usize = 5;

pub fn full_tokens(session: &mut EditorSession, params: lsp::SemanticTokensParams) -> Result<Value, LspRequestError> {
    let uri = params.text_document.uri;
    let Some(place) = session.find_document(&uri) else { return Ok(Value::Null) };
    let data = encode_tokens(session, &place, list_tokens(&place.analysis, place.file));
    let id = session.remember_tokens(&uri, data.clone());
    Ok(json!({ "resultId": id, "data": data }))
}

/// The tokens that overlap a range.
pub fn tokens_in_range(
    session: &mut EditorSession,
    params: lsp::SemanticTokensRangeParams,
) -> Result<Value, LspRequestError> {
    let Some(place) = session.find_document(&params.text_document.uri) else { return Ok(Value::Null) };
    let lines = LineIndex::new(place.analysis.file_text(place.file), session.column_encoding());
    let within = Span::new(lines.offset_at(params.range.start), lines.offset_at(params.range.end));
    let mut all = list_tokens(&place.analysis, place.file);
    all.retain(|t| t.span.start <= within.end && within.start <= t.span.end);
    Ok(json!({ "data": encode_tokens(session, &place, all) }))
}

/// The changes since the tokens that the client has; all tokens if those were not the last ones sent.
pub fn token_changes(
    session: &mut EditorSession,
    params: lsp::SemanticTokensDeltaParams,
) -> Result<Value, LspRequestError> {
    let uri = params.text_document.uri;
    let Some(place) = session.find_document(&uri) else { return Ok(Value::Null) };
    let data = encode_tokens(session, &place, list_tokens(&place.analysis, place.file));
    let before = session.sent_tokens(&uri, &params.previous_result_id).map(<[u32]>::to_vec);
    let id = session.remember_tokens(&uri, data.clone());
    let Some(before) = before else { return Ok(json!({ "resultId": id, "data": data })) };
    let mut edits: Vec<Value> = Vec::new();
    if let Some((start, gone, new)) = edit(&before, &data) {
        edits.push(json!({ "start": start, "deleteCount": gone, "data": new }));
    }
    Ok(json!({ "resultId": id, "edits": edits }))
}

/// The part in which two lists of tokens differ: its start, the number of removed integers, the new integers.
fn edit<'d>(before: &[u32], now: &'d [u32]) -> Option<(usize, usize, &'d [u32])> {
    let (one, other) = (before.chunks(FIELDS), now.chunks(FIELDS));
    let head = count_equal(one.clone(), other.clone()) * FIELDS;
    let left = (before.len() - head).min(now.len() - head) / FIELDS;
    let tail = count_equal(one.rev().take(left), other.rev()) * FIELDS;
    let new = now.get(head..now.len() - tail).unwrap_or_default();
    let gone = before.len() - head - tail;
    if gone == 0 && new.is_empty() { None } else { Some((head, gone, new)) }
}

/// Encodes tokens for the protocol, each relative to the previous one.
fn encode_tokens(session: &EditorSession, place: &RequestPosition, tokens: Vec<SemanticToken>) -> Vec<u32> {
    let lines = LineIndex::new(place.analysis.file_text(place.file), session.column_encoding());
    let mut data = Vec::with_capacity(tokens.len() * FIELDS);
    let mut last = lsp::Position::default();
    for token in tokens {
        let range = lines.span_range(token.span);
        if range.start.line != range.end.line {
            continue;
        }
        let line = range.start.line - last.line;
        let start = if line == 0 { range.start.character - last.character } else { range.start.character };
        data.extend([line, start, range.end.character - range.start.character, token.kind as u32, 0]);
        last = range.start;
    }
    data
}

#[cfg(test)]
mod tests {
    use super::edit;

    #[test]
    fn a_difference_is_one_stretch_of_whole_tokens() {
        let (a, b, c) = ([0, 1, 2, 3, 0], [1, 1, 2, 3, 0], [2, 1, 2, 3, 0]);
        assert_eq!(edit(&[a, b].concat(), &[a, b].concat()), None);
        assert_eq!(edit(&[a, b].concat(), &[a, c, b].concat()), Some((5, 0, &c[..])));
        assert_eq!(edit(&[a, c, b].concat(), &[a, b].concat()), Some((5, 5, &[][..])));
        assert_eq!(edit(&[a, a, a].concat(), &[a, a].concat()), Some((10, 5, &[][..])), "nothing is taken away twice");
        assert_eq!(edit(&[], &a), Some((0, 0, &a[..])));
        assert_eq!(edit(&a, &[]), Some((0, 5, &[][..])));
    }
}
