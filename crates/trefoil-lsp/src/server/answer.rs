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
use crate::{code_action, completion, definition, hover, inlay_hints, references, rename, semantic_tokens, symbols};
use trefoil::door::real;

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
        "textDocument/completion" => with(session, params, completion),
        "textDocument/hover" => with(session, params, hover),
        "textDocument/definition" => with(session, params, definition),
        "textDocument/references" => with(session, params, references),
        "textDocument/prepareRename" => with(session, params, prepare_rename),
        "textDocument/rename" => with(session, params, rename),
        "textDocument/inlayHint" => with(session, params, inlay_hints),
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
        let edits = match action.kind {
            code_action::Kind::Quick => action.edits,
            code_action::Kind::All => code_action::proven(&place.analysis, place.file, &mut |edits| {
                let text = rename::apply(place.analysis.text(place.file), edits);
                session.workspace.analysis_with(&place.path, &text).map(|(analysis, _)| analysis)
            }),
        };
        if edits.is_empty() {
            continue;
        }
        out.push(lsp::CodeAction {
            title: action.title,
            kind: Some(kind),
            diagnostics: action.diagnostic.map(|d| vec![converter.diagnostic(d)]),
            is_preferred: action.preferred.then_some(true),
            edit: Some(converter.edit(&edits)),
            ..Default::default()
        });
    }
    Ok(Some(out))
}

fn completion(session: &mut Session, params: lsp::CompletionParams) -> Result<Option<lsp::CompletionList>, Refused> {
    let at = params.text_document_position_params;
    let Some(place) = session.place(&at.text_document.uri, at.position) else { return Ok(None) };
    let workspace = &session.workspace;
    let found = completion::complete(&place.analysis, place.file, place.offset, &mut |text| {
        workspace.analysis_with(&place.path, text)
    });
    let mut converter = Converter::new(session, &place.analysis);
    let range = converter.range(place.file, found.replace);
    let items = found.items.into_iter().enumerate().map(|(rank, item)| completion_item(rank, item, range)).collect();
    Ok(Some(lsp::CompletionList { is_incomplete: false, items, ..Default::default() }))
}

fn completion_item(rank: usize, item: completion::Item, range: lsp::Range) -> lsp::CompletionItem {
    use completion::Sort;
    let kind = match item.sort {
        Sort::Name => lsp::CompletionItemKind::Variable,
        Sort::Property => lsp::CompletionItemKind::Field,
        Sort::Key => lsp::CompletionItemKind::Property,
        Sort::Value => lsp::CompletionItemKind::EnumMember,
        Sort::Word => lsp::CompletionItemKind::Keyword,
        Sort::Rule => lsp::CompletionItemKind::Reference,
    };
    lsp::CompletionItem {
        label: item.label,
        kind: Some(kind),
        detail: item.detail,
        documentation: item.documentation.map(|text| lsp::Documentation::MarkupContent(markdown(text))),
        sort_text: Some(format!("{rank:05}")),
        text_edit: Some(lsp::TextEdit { range, new_text: item.insert }.into()),
        ..Default::default()
    }
}

fn markdown(value: String) -> lsp::MarkupContent {
    lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value }
}

fn hover(session: &mut Session, params: lsp::HoverParams) -> Result<Option<lsp::Hover>, Refused> {
    let at = params.text_document_position_params;
    let Some(place) = session.place(&at.text_document.uri, at.position) else { return Ok(None) };
    let Some(found) = hover::hover(&place.analysis, place.file, place.offset) else { return Ok(None) };
    let range = Converter::new(session, &place.analysis).range(place.file, found.span);
    Ok(Some(lsp::Hover { contents: lsp::Contents::MarkupContent(markdown(found.text)), range: Some(range) }))
}

fn definition(session: &mut Session, params: lsp::DefinitionParams) -> Result<Option<Vec<lsp::Location>>, Refused> {
    let at = params.text_document_position_params;
    let Some(place) = session.place(&at.text_document.uri, at.position) else { return Ok(None) };
    let found = definition::definition(&place.analysis, place.file, place.offset);
    let mut converter = Converter::new(session, &place.analysis);
    Ok(Some(found.into_iter().filter_map(|at| converter.location(at)).collect()))
}

fn references(session: &mut Session, params: lsp::ReferenceParams) -> Result<Option<Vec<lsp::Location>>, Refused> {
    let at = params.text_document_position_params;
    let Some(place) = session.place(&at.text_document.uri, at.position) else { return Ok(None) };
    let declaration = params.context.include_declaration;
    let found = references::references(&place.analysis, place.file, place.offset, declaration);
    let mut converter = Converter::new(session, &place.analysis);
    Ok(Some(found.into_iter().filter_map(|at| converter.location(at)).collect()))
}

fn prepare_rename(
    session: &mut Session,
    params: lsp::PrepareRenameParams,
) -> Result<Option<lsp::PrepareRenamePlaceholder>, Refused> {
    let at = params.text_document_position_params;
    let Some(place) = session.place(&at.text_document.uri, at.position) else { return Ok(None) };
    let Some((span, placeholder)) = rename::prepare(&place.analysis, place.file, place.offset) else { return Ok(None) };
    let range = Converter::new(session, &place.analysis).range(place.file, span);
    Ok(Some(lsp::PrepareRenamePlaceholder { range, placeholder }))
}

fn rename(session: &mut Session, params: lsp::RenameParams) -> Result<Option<lsp::WorkspaceEdit>, Refused> {
    let at = params.text_document_position_params;
    let Some(place) = session.place(&at.text_document.uri, at.position) else { return Ok(None) };
    let refuse = |message: String| Refused::new(ErrorCode::RequestFailed, message);
    let before = &place.analysis;
    let found = rename::rename(before, place.file, place.offset, &params.new_name).map_err(refuse)?;
    let path = |file| before.source(file).map(|s| real(std::path::Path::new(s.name())));
    let mut files: Vec<_> = found.edits.iter().map(|e| e.location.file).collect();
    files.dedup();
    let texts = files.into_iter().filter_map(|file| {
        let own = found.edits.iter().filter(|e| e.location.file == file);
        Some((path(file)?, rename::apply(before.text(file), own)))
    });
    if let Some(after) = session.workspace.analysis_after(&place.path, texts) {
        found.verify(before, &after, |file| after.file(&path(file)?)).map_err(refuse)?;
    }
    Ok(Some(Converter::new(session, before).edit(&found.edits)))
}

fn inlay_hints(session: &mut Session, params: lsp::InlayHintParams) -> Result<Option<Vec<lsp::InlayHint>>, Refused> {
    let Some(place) = session.document(&params.text_document.uri) else { return Ok(None) };
    let lines = Lines::new(place.analysis.text(place.file), session.encoding());
    let within = Span::new(lines.offset(params.range.start), lines.offset(params.range.end));
    let hints = inlay_hints::hints(&place.analysis, place.file, within).into_iter().map(|hint| lsp::InlayHint {
        position: lines.position(hint.at),
        label: lsp::Label::String(hint.text),
        kind: Some(lsp::InlayHintKind::Type),
        padding_left: Some(true),
        text_edits: None,
        tooltip: None,
        padding_right: None,
        data: None,
    });
    Ok(Some(hints.collect()))
}
