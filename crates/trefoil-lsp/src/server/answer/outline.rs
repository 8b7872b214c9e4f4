//! Requests about a whole file or workspace.

use gen_lsp_types as lsp;
use trefoil_syntax::{FileId, Span};

use super::Refused;
use crate::server::convert::{Converter, symbol_kind};
use crate::server::position::Lines;
use crate::server::session::Session;
use crate::{folding, inlay_hints as hints, lens, links, selection, symbols, workspace_symbols as everywhere};

pub fn document_symbol(
    session: &mut Session,
    params: lsp::DocumentSymbolParams,
) -> Result<Option<Vec<lsp::DocumentSymbol>>, Refused> {
    let Some(place) = session.document(&params.text_document.uri) else { return Ok(None) };
    let mut converter = Converter::new(session, &place.analysis);
    let all = symbols::symbols(&place.analysis, place.file);
    Ok(Some(all.iter().map(|s| converter.symbol(place.file, s)).collect()))
}

pub fn inlay_hints(
    session: &mut Session,
    params: lsp::InlayHintParams,
) -> Result<Option<Vec<lsp::InlayHint>>, Refused> {
    let Some(place) = session.document(&params.text_document.uri) else { return Ok(None) };
    let lines = Lines::new(place.analysis.text(place.file), session.encoding());
    let within = Span::new(lines.offset(params.range.start), lines.offset(params.range.end));
    let hints = hints::hints(&place.analysis, place.file, within).into_iter().map(|hint| lsp::InlayHint {
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

/// Maximum number of results of a search.
const FOUND: usize = 500;

pub fn workspace_symbol(
    session: &mut Session,
    params: lsp::WorkspaceSymbolParams,
) -> Result<Vec<lsp::WorkspaceSymbol>, Refused> {
    session.workspace.analyse();
    let mut out = Vec::new();
    for (root, analysis) in session.workspace.analyses() {
        let mut converter = Converter::new(session, analysis);
        let own = |file: FileId| {
            let path = analysis.source(file).map(|s| trefoil_project::door::real(std::path::Path::new(s.name())));
            path.is_some_and(|path| session.workspace.speaks_for(&path) == Some(root))
        };
        // A file in two folders is reported for only one of them.
        let mut known: std::collections::HashMap<FileId, bool> = std::collections::HashMap::new();
        for found in everywhere::find(analysis, &params.query) {
            if out.len() == FOUND {
                return Ok(out);
            }
            if !*known.entry(found.at.file).or_insert_with(|| own(found.at.file)) {
                continue;
            }
            let Some(location) = converter.location(found.at) else { continue };
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

pub fn folding_range(
    session: &mut Session,
    params: lsp::FoldingRangeParams,
) -> Result<Option<Vec<lsp::FoldingRange>>, Refused> {
    let Some(place) = session.document(&params.text_document.uri) else { return Ok(None) };
    let lines = Lines::new(place.analysis.text(place.file), session.encoding());
    let mut out: Vec<lsp::FoldingRange> = Vec::new();
    for fold in folding::folds(&place.analysis, place.file) {
        let range = lines.range(fold.span);
        let (start_line, end_line) = (range.start.line, range.end.line);
        // Only the largest range that starts on a line, because editors have one handle per line.
        if start_line < end_line && out.iter().rev().take_while(|f| f.start_line >= start_line).count() == 0 {
            let kind = fold.comment.then_some(lsp::FoldingRangeKind::Comment);
            out.push(lsp::FoldingRange { start_line, end_line, kind, ..Default::default() });
        }
    }
    Ok(Some(out))
}

pub fn selection_range(
    session: &mut Session,
    params: lsp::SelectionRangeParams,
) -> Result<Option<Vec<lsp::SelectionRange>>, Refused> {
    let Some(place) = session.document(&params.text_document.uri) else { return Ok(None) };
    let lines = Lines::new(place.analysis.text(place.file), session.encoding());
    let one = |position: &lsp::Position| {
        let around = selection::selections(&place.analysis, place.file, lines.offset(*position));
        let outwards = around.into_iter().rev().fold(None, |parent: Option<lsp::SelectionRange>, span| {
            Some(lsp::SelectionRange { range: lines.range(span), parent: parent.map(Box::new) })
        });
        outwards.unwrap_or_default()
    };
    Ok(Some(params.positions.iter().map(one).collect()))
}

pub fn document_link(
    session: &mut Session,
    params: lsp::DocumentLinkParams,
) -> Result<Option<Vec<lsp::DocumentLink>>, Refused> {
    let Some(place) = session.document(&params.text_document.uri) else { return Ok(None) };
    let lines = Lines::new(place.analysis.text(place.file), session.encoding());
    let one = |link: links::Link| lsp::DocumentLink {
        range: lines.range(link.span),
        target: Some(session.uri(&link.target)),
        ..Default::default()
    };
    Ok(Some(links::links(&place.analysis, place.file).into_iter().map(one).collect()))
}

/// The lenses of a program. The client runs their commands; the server answers those that the client does not have with
/// a message.
pub fn code_lens(session: &mut Session, params: lsp::CodeLensParams) -> Result<Option<Vec<lsp::CodeLens>>, Refused> {
    let Some(place) = session.document(&params.text_document.uri) else { return Ok(None) };
    let Some(span) = lens::entry(&place.analysis, place.file) else { return Ok(Some(Vec::new())) };
    let range = Lines::new(place.analysis.text(place.file), session.encoding()).range(span);
    let uri = params.text_document.uri;
    let last = session.last_run(&place);
    // With the permissions that the run had: whoever starts it in a terminal sees them first.
    let command = last.as_ref().map(|last| last.resume(&place.path));
    let one = |does: lens::Does| lsp::CodeLens {
        range,
        command: Some(lsp::Command {
            title: does.title().to_owned(),
            tooltip: None,
            command: does.command().to_owned(),
            arguments: Some(match last.as_ref().filter(|_| does.needs_run()) {
                Some(last) => {
                    let (run, target) = (last.run.run.clone(), last.target(&place.path));
                    let command = command.clone().filter(|_| does == lens::Does::Resume);
                    let command = command.map(serde_json::Value::from);
                    [uri.0.clone().into(), run.into(), target.into()].into_iter().chain(command).collect()
                }
                None => vec![uri.0.clone().into()],
            }),
        }),
        data: None,
    };
    let shown = lens::Does::ALL.into_iter().filter(|does| last.is_some() || !does.needs_run());
    Ok(Some(shown.map(one).collect()))
}
