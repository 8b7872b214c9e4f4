//! Requests about a whole file or workspace.

use gen_lsp_types as lsp;
use trefoil_syntax::{FileId, Span};

use super::LspRequestError;
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
    let hints = hints::list_hints(&place.analysis, place.file, within).into_iter().map(|hint| lsp::InlayHint {
        position: lines.position_at(hint.at),
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
        let own = |file: FileId| {
            let path = analysis
                .source_file(file)
                .map(|s| trefoil_project::file_access::resolve_links(std::path::Path::new(s.name())));
            path.is_some_and(|path| session.workspace.speaks_for(&path) == Some(root))
        };
        // A file in two folders is reported for only one of them.
        let mut known: std::collections::HashMap<FileId, bool> = std::collections::HashMap::new();
        for found in everywhere::find_symbols(analysis, &params.query) {
            if out.len() == FOUND {
                return Ok(out);
            }
            if !*known.entry(found.at.file).or_insert_with(|| own(found.at.file)) {
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

pub fn document_link(
    session: &mut EditorSession,
    params: lsp::DocumentLinkParams,
) -> Result<Option<Vec<lsp::DocumentLink>>, LspRequestError> {
    let Some(place) = session.find_document(&params.text_document.uri) else { return Ok(None) };
    let lines = LineIndex::new(place.analysis.file_text(place.file), session.column_encoding());
    let one = |link: links::PathLink| lsp::DocumentLink {
        range: lines.span_range(link.span),
        target: Some(session.client_uri(&link.target)),
        ..Default::default()
    };
    Ok(Some(links::find_links(&place.analysis, place.file).into_iter().map(one).collect()))
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
    // With the permissions that the run had: whoever starts it in a terminal sees them first.
    let command = last.as_ref().map(|last| last.resume_command(&place.path));
    let one = |does: lens::LensAction| lsp::CodeLens {
        range,
        command: Some(lsp::Command {
            title: does.lens_title().to_owned(),
            tooltip: None,
            command: does.command_name().to_owned(),
            arguments: Some(match last.as_ref().filter(|_| does.needs_run()) {
                Some(last) => {
                    let (run, target) = (last.run.run.clone(), last.run_target(&place.path));
                    let command = command.clone().filter(|_| does == lens::LensAction::Resume);
                    let command = command.map(serde_json::Value::from);
                    [uri.0.clone().into(), run.into(), target.into()].into_iter().chain(command).collect()
                }
                None => vec![uri.0.clone().into()],
            }),
        }),
        data: None,
    };
    let shown = lens::LensAction::ALL.into_iter().filter(|does| last.is_some() || !does.needs_run());
    Ok(Some(shown.map(one).collect()))
}
