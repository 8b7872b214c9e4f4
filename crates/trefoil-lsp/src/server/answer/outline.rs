//! Requests about a whole file or workspace.

use std::collections::HashMap;
use std::path::Path;

use gen_lsp_types as lsp;
use trefoil_project::file_access::resolve_links;
use trefoil_syntax::{FileId, Span};

use super::LspRequestError;
use crate::analysis::FolderAnalysis;
use crate::server::converter::{ProtocolConverter, symbol_kind};
use crate::server::position::LineIndex;
use crate::server::session::EditorSession;
use crate::{inlay_hints as hints, lens, links, symbols, workspace_symbols as everywhere};

pub fn document_symbol(
    session: &mut EditorSession,
    params: lsp::DocumentSymbolParams,
) -> Result<Option<Vec<lsp::DocumentSymbol>>, LspRequestError> {
    let Some(place) = session.find_document(&params.text_document.uri) else { return Ok(None) };
    let mut converter = ProtocolConverter::new(session, &place.analysis);
    let all = symbols::list_symbols(&place.analysis, place.file);
    Ok(Some(all.iter().map(|s| converter.convert_symbol(place.file, s)).collect()))
}

pub fn inlay_hints(
    session: &mut EditorSession,
    params: lsp::InlayHintParams,
) -> Result<Option<Vec<lsp::InlayHint>>, LspRequestError> {
    let Some(place) = session.find_document(&params.text_document.uri) else { return Ok(None) };
    let lines = LineIndex::new(place.analysis.file_text(place.file), session.column_encoding());
    let within = Span::new(lines.offset_at(params.range.start), lines.offset_at(params.range.end));
    let mut out = Vec::new();
    for hint in hints::list_hints(&place.analysis, place.file, within) {
        out.push(lsp::InlayHint {
            position: lines.position_at(hint.at),
            label: lsp::Label::String(hint.text),
            kind: Some(lsp::InlayHintKind::Type),
            padding_left: Some(true),
            text_edits: None,
            tooltip: None,
            padding_right: None,
            data: None,
        });
    }
    Ok(Some(out))
}

/// Maximum number of results of a search.
const FOUND: usize = 500;

pub fn workspace_symbol(
    session: &mut EditorSession,
    params: lsp::WorkspaceSymbolParams,
) -> Result<Vec<lsp::WorkspaceSymbol>, LspRequestError> {
    session.workspace.analyse_missing();
    let mut out = Vec::new();
    for (root, analysis) in session.workspace.list_analyses() {
        let mut converter = ProtocolConverter::new(session, analysis);
        // A file in two folders is reported for only one of them.
        let mut known: HashMap<FileId, bool> = HashMap::new();
        for found in everywhere::find_symbols(analysis, &params.query) {
            if out.len() == FOUND {
                return Ok(out);
            }
            let file = found.at.file;
            if !*known.entry(file).or_insert_with(|| is_reported(session, root, analysis, file)) {
                continue;
            }
            let Some(location) = converter.convert_location(found.at) else { continue };
            out.push(lsp::WorkspaceSymbol {
                location: location.into(),
                data: None,
                base_symbol_information: lsp::BaseSymbolInformation {
                    name: found.name,
                    kind: symbol_kind(found.kind),
                    tags: None,
                    container_name: found.container,
                },
            });
        }
    }
    Ok(out)
}

/// Whether the symbols of a file are reported for the folder `root`.
fn is_reported(session: &EditorSession, root: &Path, analysis: &FolderAnalysis, file: FileId) -> bool {
    let Some(source) = analysis.source_file(file) else { return false };
    session.workspace.speaks_for(&resolve_links(Path::new(source.name()))) == Some(root)
}

pub fn document_link(
    session: &mut EditorSession,
    params: lsp::DocumentLinkParams,
) -> Result<Option<Vec<lsp::DocumentLink>>, LspRequestError> {
    let Some(place) = session.find_document(&params.text_document.uri) else { return Ok(None) };
    let lines = LineIndex::new(place.analysis.file_text(place.file), session.column_encoding());
    let mut out = Vec::new();
    for link in links::find_links(&place.analysis, place.file) {
        let Some(target) = session.client_uri(&link.target) else { continue };
        out.push(lsp::DocumentLink { range: lines.span_range(link.span), target: Some(target), ..Default::default() });
    }
    Ok(Some(out))
}

/// The lenses of a program. The client runs their commands; the server answers those that the client does not have with
/// a message.
pub fn code_lens(
    session: &mut EditorSession,
    params: lsp::CodeLensParams,
) -> Result<Option<Vec<lsp::CodeLens>>, LspRequestError> {
    let Some(place) = session.find_document(&params.text_document.uri) else { return Ok(None) };
    let Some(span) = lens::program_name_span(&place.analysis, place.file) else { return Ok(Some(Vec::new())) };
    let range = LineIndex::new(place.analysis.file_text(place.file), session.column_encoding()).span_range(span);
    let uri = params.text_document.uri;
    let last = session.last_run(&place);
    let mut out = Vec::new();
    for action in lens::LensAction::ALL {
        let mut arguments: Vec<serde_json::Value> = vec![uri.0.clone().into()];
        if action.needs_run() {
            let Some(last) = &last else { continue };
            arguments.push(last.run.run.clone().into());
            arguments.push(last.run_target(&place.path).into());
            if action == lens::LensAction::Resume {
                // With the permissions that the run had: whoever starts it in a terminal sees them first.
                arguments.push(last.resume_command(&place.path).into());
            }
        }
        out.push(lsp::CodeLens {
            range,
            command: Some(lsp::Command {
                title: action.lens_title().to_owned(),
                tooltip: None,
                command: action.command_name().to_owned(),
                arguments: Some(arguments),
            }),
            data: None,
        });
    }
    Ok(Some(out))
}
