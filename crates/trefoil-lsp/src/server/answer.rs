//! Requests: from the protocol to a feature and back. A new one is one line in [`answer`] and one function.

use gen_lsp_types as lsp;
use lsp_server::ErrorCode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use trefoil::syntax::Span;

use super::convert::Converter;
use super::position::Lines;
use super::session::Session;
use crate::{code_action, semantic_tokens, symbols};

/// Why there is no answer.
pub struct Refused {
    /// The protocol's number for it.
    pub code: ErrorCode,
    /// For the person.
    pub message: String,
}

impl Refused {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

type Answer = Result<Value, Refused>;

/// Answers a request.
pub fn answer(session: &mut Session, method: &str, params: Value) -> Answer {
    match method {
        "textDocument/documentSymbol" => with(session, params, document_symbol),
        "textDocument/semanticTokens/full" => with(session, params, semantic_tokens_full),
        "textDocument/codeAction" => with(session, params, code_actions),
        _ => Err(Refused::new(ErrorCode::MethodNotFound, format!("there is no `{method}` here"))),
    }
}

fn with<P: DeserializeOwned, R: Serialize>(
    session: &mut Session,
    params: Value,
    f: impl FnOnce(&mut Session, P) -> Result<R, Refused>,
) -> Answer {
    let params = serde_json::from_value(params).map_err(|e| Refused::new(ErrorCode::InvalidParams, e.to_string()))?;
    let result = f(session, params)?;
    serde_json::to_value(result).map_err(|e| Refused::new(ErrorCode::InternalError, e.to_string()))
}

fn document_symbol(
    session: &mut Session,
    params: lsp::DocumentSymbolParams,
) -> Result<Option<Vec<lsp::DocumentSymbol>>, Refused> {
    let Some(place) = session.document(&params.text_document.uri) else { return Ok(None) };
    let mut converter = Converter::new(session, &place.analysis);
    let all = symbols::symbols(&place.analysis, place.file);
    Ok(Some(all.iter().map(|s| converter.symbol(place.file, s)).collect()))
}

fn semantic_tokens_full(
    session: &mut Session,
    params: lsp::SemanticTokensParams,
) -> Result<Option<lsp::SemanticTokens>, Refused> {
    let Some(place) = session.document(&params.text_document.uri) else { return Ok(None) };
    let tokens = semantic_tokens::tokens(&place.analysis, place.file);
    let lines = Lines::new(place.analysis.text(place.file), session.encoding());
    let mut data = Vec::with_capacity(tokens.len());
    let mut last = lsp::Position::default();
    for token in tokens {
        let range = lines.range(token.span);
        if range.start.line != range.end.line {
            continue;
        }
        let delta_line = range.start.line - last.line;
        let delta_start = if delta_line == 0 { range.start.character - last.character } else { range.start.character };
        data.push(lsp::SemanticToken {
            delta_line,
            delta_start,
            length: range.end.character - range.start.character,
            token_type: token.kind as u32,
            token_modifiers_bitset: 0,
        });
        last = range.start;
    }
    Ok(Some(lsp::SemanticTokens { result_id: None, data }))
}

fn code_actions(session: &mut Session, params: lsp::CodeActionParams) -> Result<Option<Vec<lsp::CodeAction>>, Refused> {
    let Some(place) = session.document(&params.text_document.uri) else { return Ok(None) };
    let lines = Lines::new(place.analysis.text(place.file), session.encoding());
    let span = Span::new(lines.offset(params.range.start), lines.offset(params.range.end));
    let wanted = |kind: &str| {
        params.context.only.as_ref().is_none_or(|only| {
            only.iter()
                .map(|k| String::from(k.clone()))
                .any(|k| k.is_empty() || kind == k || kind.starts_with(&format!("{k}.")))
        })
    };
    let mut out = Vec::new();
    let mut converter = Converter::new(session, &place.analysis);
    for action in code_action::actions(&place.analysis, place.file, span) {
        let kind = match action.kind {
            code_action::Kind::Quick => lsp::CodeActionKind::QuickFix,
            code_action::Kind::All => lsp::CodeActionKind::SourceFixAll,
        };
        if !wanted(&String::from(kind.clone())) {
            continue;
        }
        out.push(lsp::CodeAction {
            title: action.title,
            kind: Some(kind),
            diagnostics: action.diagnostic.map(|d| vec![converter.diagnostic(d)]),
            is_preferred: action.preferred.then_some(true),
            edit: Some(converter.edit(&action.edits)),
            ..Default::default()
        });
    }
    Ok(Some(out))
}
